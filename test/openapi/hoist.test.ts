import { expect, it } from 'vitest'
import { hoistInlineSchemas } from '../../src/openapi/hoist.ts'
import { type JsonObject, reference } from '../../src/openapi/json.ts'

const colour = { type: 'string', enum: ['RED', 'BLUE'] }
const size = { type: 'object', properties: { width: { type: 'integer' } } }
function record(properties: JsonObject): JsonObject {
  return { type: 'object', properties }
}
async function hoist(schemas: Record<string, JsonObject>) {
  return (await hoistInlineSchemas(schemas, [])).schemas
}

it('an enum and a repeated schema become components named after their properties', async () => {
  const schemas = await hoist({
    Car: record({ colour, size }),
    Bike: record({ sizes: { type: 'array', items: size } }),
  })
  expect(schemas).toEqual({
    Car: record({ colour: reference('schemas', 'Colour'), size: reference('schemas', 'Size') }),
    Bike: record({ sizes: { type: 'array', items: reference('schemas', 'Size') } }),
    Colour: colour,
    Size: size,
  })
})

it('an object that occurs once stays inline', async () => {
  expect(await hoist({ Car: record({ size }) })).toEqual({ Car: record({ size }) })
})

it('of different schemas with one name, the most common one keeps it', async () => {
  const other = { type: 'string', enum: ['GREEN'] }
  const schemas = await hoist({ Car: record({ colour }), Bike: record({ colour }), Bus: record({ colour: other }) })
  expect(Object.keys(schemas)).toEqual(['Car', 'Bike', 'Bus', 'Colour', 'BusColour'])
  expect(schemas.BusColour).toEqual(other)
})

it('an alternative of a union is named after its constant', async () => {
  const car = record({ kind: { type: 'string', const: 'FAST_CAR' } })
  const schemas = await hoist({ Vehicle: { oneOf: [car, size, { type: 'null' }] } })
  expect(schemas).toMatchObject({
    Vehicle: {
      oneOf: [reference('schemas', 'VehicleFastCar'), reference('schemas', 'VehicleAlternative2'), { type: 'null' }],
    },
    VehicleFastCar: car,
  })
})

it('a title is the name, and a name has only the characters of a component', async () => {
  const schemas = await hoist({
    Car: record({ paint: { ...colour, title: 'Paint' }, '@größe': size, 'größe/2': size, colour: size }),
    Colour: record({}),
    Bus: record({ colour }),
  })
  expect(Object.keys(schemas).slice(3)).toEqual(['Paint', 'gre', 'BusColour'])
})

it('the schema of a parameter is named, and its example is not a schema', async () => {
  const parameter = { name: 'colour', in: 'query', schema: colour, example: size }
  const { operations } = await hoistInlineSchemas({}, [
    { owner: 'ListCars', operation: { parameters: [parameter, { ...parameter, example: size }] } },
  ])
  const named = { ...parameter, schema: reference('schemas', 'Colour') }
  expect(operations).toEqual([{ owner: 'ListCars', operation: { parameters: [named, named] } }])
})
