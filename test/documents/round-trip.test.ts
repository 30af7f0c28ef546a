import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type LoadedDomain, toContract } from '../../src/api/domain.ts'
import { bankingCatalogue, catalogueWith, gatewayContracts } from '../../src/contract/index.ts'
import { anonymous } from '../../src/contract/policies.ts'
import { readDocument } from '../../src/documents/index.ts'
import { isRecord, operationsIn } from '../../src/kernel/index.ts'
import { openApiDocument } from '../../src/openapi/index.ts'
import { operationsOf } from './described.ts'

type Json = Record<string, unknown>

describe.each([
  ['the OpenAPI document of the whole catalogue', false],
  ['the document with sealed bodies', true],
])('%s, read as the input of another gateway', (_name, isSealed) => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-document-'))
  let document: Json
  let again: Json
  let domains: readonly LoadedDomain[]

  beforeAll(async () => {
    // A service declares no events.
    const silent = { ...bankingCatalogue, events: new Map() }
    document = await openApiDocument(silent, { version: '1.0.0', isSealed })
    const file = join(folder, 'portico.json')
    writeFileSync(file, JSON.stringify(document))
    const read = readDocument(file)
    if ('errors' in read) throw new Error(read.errors.join('\n'))
    domains = read.domains
    const contracts = Object.fromEntries(domains.map((domain, index) => [domain.name, toContract(domain, index)]))
    again = await openApiDocument(catalogueWith(contracts), { version: '1.0.0', isSealed })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('contains every operation except those that every gateway has', () => {
    const ofGateway = Object.values(gatewayContracts).flatMap((contract) =>
      operationsIn(contract).map(([, { id }]) => id),
    )
    const read = domains.flatMap(({ operations }) => Object.values(operations).map(({ id }) => id))
    const documented = bankingCatalogue.operations.filter(({ protocol }) => protocol === undefined)
    const expected = documented.map(({ id }) => id).filter((id) => !ofGateway.includes(id))
    expect(read.toSorted()).toEqual(expected.toSorted())
  })

  test('has the same operations, schemas, policies and refusals', () => {
    const [before, after] = [operationsOf(document), operationsOf(again)]
    expect(before.size).toBeGreaterThan(150)
    expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted())
    // A gateway reads no description of an operation. The last part describes the policy.
    const withPolicy = (operation: unknown) =>
      isRecord(operation)
        ? { ...operation, description: String(operation.description).split('\n\n').at(-1) }
        : operation
    for (const [place, operation] of before) expect(withPolicy(after.get(place)), place).toEqual(withPolicy(operation))
  })

  test('has the same permissions, codes and descriptions', () => {
    expect(again['x-portico']).toEqual(document['x-portico'])
  })

  test('validates requests as strictly as the contract that it was made from', () => {
    const transfers = domains.find(({ name }) => name === 'transfers')
    const create = transfers?.operations.createTransfer
    if (!create || typeof create.body === 'string') throw new Error('createTransfer has no body')
    const id = '01990000-0000-7000-8000-000000000001'
    const valid = { sourceWalletBizId: id, targetWalletBizId: id, amount: '1.00', currency: 'USD' }
    expect(create.body.safeParse(valid).success).toBe(true)
    for (const wrong of [
      { amount: '-1' },
      { amount: 1 },
      { colour: 'red' },
      { sourceWalletBizId: 'x' },
      { currency: undefined },
    ])
      expect(create.body.safeParse({ ...valid, ...wrong }).success, JSON.stringify(wrong)).toBe(false)
  })
})

test('a document declares rate groups, which the document of its gateway repeats', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-rates-'))
  const file = join(folder, 'cards.json')
  const policy = { ...anonymous, rate: 'cards' }
  const marks = { id: 'cards.read', name: 'readCard', chains: ['consumer'], policy, refuses: [] }
  const content = { 'application/json': { schema: { type: 'boolean' } } }
  const rateGroups = { cards: { address: { limit: 3, windowMs: 1_000 } } }
  const write = (declared: object): void =>
    writeFileSync(
      file,
      JSON.stringify({
        openapi: '3.1.0',
        'x-portico': { domains: { cards: 'Cards.' }, ...declared },
        paths: {
          '/cards': {
            get: { summary: 'Read a card', 'x-portico': marks, responses: { 200: { description: 'OK', content } } },
          },
        },
      }),
    )
  const catalogueOfFile = () => {
    const read = readDocument(file)
    if ('errors' in read) throw new Error(read.errors.join('\n'))
    return catalogueWith(
      Object.fromEntries(read.domains.map((domain, index) => [domain.name, toContract(domain, index)])),
    )
  }
  write({ rateGroups })
  const document: Json = await openApiDocument(catalogueOfFile(), { version: '1.0.0' })
  expect(document['x-portico']).toMatchObject({ rateGroups })
  write({})
  expect(catalogueOfFile).toThrow('cards.read of cards counts towards the rate group cards, which no owner declares')
  rmSync(folder, { recursive: true, force: true })
})

test('a document whose operations emit events declares no events: the gateway cannot record those of a service', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-events-'))
  const file = join(folder, 'portico.json')
  writeFileSync(file, JSON.stringify(await openApiDocument(bankingCatalogue, { version: '1.0.0' })))
  const read = readDocument(file)
  rmSync(folder, { recursive: true })
  if ('errors' in read) throw new Error(read.errors.join('\n'))
  expect(read.domains.length).toBeGreaterThan(10)
  const operations = read.domains.flatMap(({ operations }) => Object.values(operations))
  expect(operations.filter(({ emits }) => emits !== undefined)).toEqual([])
})
