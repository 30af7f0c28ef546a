import { describe, expect, it } from 'vitest'
import { bankingContracts, catalogue, gatewayContracts, identityContracts } from '../../src/contract/index.ts'
import { observedErrors } from '../../src/contract/observed-errors.ts'
import { listRefusals } from '../../src/contract/policies.ts'
import { domainOf, type Operation, operationsIn, pathParamNames } from '../../src/kernel/index.ts'
import { additions, outsideTables, secondChain, webChain } from './interface.ts'
import { routes, routesOf, shapeOf } from './routes.ts'

const everyRow = [...webChain, ...outsideTables, ...secondChain]
const byShape = new Map(routes.map((route) => [route.shape, route]))
function duplicates(items: string[]): string[] {
  return items.filter((item, place) => items.indexOf(item) !== place)
}

describe('the interface', () => {
  it('has 90 endpoints on the web chain', () => {
    expect(webChain).toHaveLength(90)
    expect(secondChain).toHaveLength(9)
    expect(duplicates(everyRow.map((row) => shapeOf(`${row.method} ${row.path}`)))).toEqual([])
  })
})

describe.each(everyRow)('$method $path', ({ method, path, workspace, observed }) => {
  const route = byShape.get(shapeOf(`${method} ${path}`))

  it('is in the catalogue, with its workspace column', () => {
    expect(route).toBeDefined()
    if (workspace !== 'unspecified') expect(route?.operation.policy.workspace).toBe(workspace)
  })

  it('lists every observed error', () => {
    expect(route && listRefusals(route.operation, route.chain)).toEqual(expect.arrayContaining(observed))
  })
})

const contracts = { ...identityContracts, ...bankingContracts, observations: gatewayContracts.observations }

describe('the catalogue', () => {
  it('has the parameter names of the interface on the web chain', () => {
    const names = new Set(routes.map((route) => route.name))
    expect(webChain.map((row) => `${row.method} ${row.path}`).filter((name) => !names.has(name))).toEqual([])
  })

  it('has only the endpoints of the interface and the listed additions on its chains', () => {
    const known = new Set([...everyRow.map((row) => shapeOf(`${row.method} ${row.path}`)), ...additions])
    const unknown = routes.filter((route) => route.chain !== 'system' && !known.has(route.shape))
    const edit = 'edit `additions` in test/contract/interface.ts'
    expect(
      unknown.map((route) => route.name),
      edit,
    ).toEqual([])
    expect(
      additions.filter((name) => !byShape.has(name)),
      edit,
    ).toEqual([])
  })

  it('offers sign-in, security, profile and constants on the SYSTEM portal, too, but no registration', () => {
    const common = /\/(auth\/(?!register)|secure-channel|security|profile$|profile\/update|constants)/
    const expected = routesOf('consumer').filter((route) => common.test(route.name))
    const offered = new Set(routesOf('system').map((route) => route.operation.id))
    expect(expected.filter((route) => !offered.has(route.operation.id)).map((route) => route.name)).toEqual([])
    expect(expected).toHaveLength(11 - 1 + 4 + 17 + 2 + 2 + 2 + 3 + 9 + 11)
    expect([...offered].filter((id) => id.startsWith('registration.'))).toEqual([])
  })

  it('has unique ids, unique export names and no two operations on one route', () => {
    const names = Object.values(contracts).flatMap((contract) => operationsIn(contract).map(([name]) => name))
    expect(duplicates(catalogue.map((operation) => operation.id))).toEqual([])
    expect(duplicates(names)).toEqual([])
    expect(duplicates(routes.map((route) => route.shape))).toEqual([])
  })

  it('contains every declared operation once, grouped by domain in the order of declaration', () => {
    const declared = Object.values(contracts)
      .flatMap(operationsIn)
      .map(([, operation]) => operation)
    // The body of an export depends on the order types of all domains.
    const withoutBody = (each: Operation) => (each.id === 'exports.create' ? { ...each, body: null } : each)
    expect(catalogue.map(withoutBody)).toEqual(
      Object.keys(contracts).flatMap((domain) => declared.filter(({ id }) => domainOf(id) === domain).map(withoutBody)),
    )
  })

  it('declares observed errors for existing operations only', () => {
    const ids = new Set(catalogue.map((operation) => operation.id))
    expect(
      [...observedErrors.keys()].filter((id) => !ids.has(id)),
      'edit `observedErrors` in src/contract/observed-errors.ts',
    ).toEqual([])
  })
})

describe.each(catalogue.map((operation) => ({ id: operation.id, operation })))('$id', ({ operation }) => {
  it('is well formed', () => {
    expect(operation.id).toMatch(/^[a-z]+([A-Z][a-z]+)*\.[a-z]+([A-Z][a-z]+)*$/)
    // SCIM has its own names.
    const ofHouse = operation.path.replace(/^\/scim\/v2\/[A-Za-z]+/, '/scim')
    expect(ofHouse).toMatch(/^(\/([a-z]+(-[a-z]+)*|\{[a-z]+(_[a-z]+)*\}))+$/)
    expect(operation.summary.trim()).not.toBe('')
    expect(duplicates(pathParamNames(operation.path))).toEqual([])
    expect(duplicates([...operation.refuses])).toEqual([])
    expect(duplicates([...operation.chains])).toEqual([])
  })
})
