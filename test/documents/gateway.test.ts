import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { LoadedDomain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { catalogueOfPortal } from '../../src/compose/catalogue.ts'
import { catalogueOf } from '../../src/compose/extensions.ts'
import type { Catalogue } from '../../src/contract/index.ts'
import { own } from '../../src/contract/policies.ts'
import { declarationsOf, readDocument } from '../../src/documents/index.ts'
import { openApiDocument } from '../../src/openapi/index.ts'

interface Marks {
  id: string
  name: string
  path: string
  chains: string[]
  policy: Record<string, unknown>
  refuses: string[]
}

interface Printed {
  paths: Record<string, Record<string, { 'x-portico': Marks }>>
  'x-portico': {
    codes: Record<string, { status: number }>
    permissions: { workspace: Record<string, { actions: string[]; peopleOnly?: string[] }>; operator: object }
    rateGroups: Record<string, object>
  }
}

function marksOf({ paths }: Printed, path: string, method = 'get'): Marks {
  const marks = paths[path]?.[method]?.['x-portico']
  if (!marks) throw new Error(`the document has no ${method} ${path}`)
  return marks
}

const ours: LoadedDomain[] = bankingDomains.map((each) => ({ ...each, source: 'test', isOurs: true }))

/** A domain that shares a code and a permission with `exchanges`. */
const cards: LoadedDomain = {
  name: 'cards',
  summary: 'Payment cards.',
  operations: {
    convertCard: {
      id: 'cards.convert',
      method: 'POST',
      path: '/cards/convert',
      chains: ['consumer'],
      summary: 'Convert the balance of a card',
      policy: { ...own, workspace: 'required', permission: 'exchange:create', rate: 'cards' },
      body: z.strictObject({ currency: z.string() }),
      reply: z.boolean(),
      refuses: ['EXCHANGE.RATE_UNAVAILABLE', 'CARD.NOT_ACTIVE'] as never[],
    },
  },
  permissions: { workspace: { card: { actions: ['read', 'block'], peopleOnly: ['block'] } } },
  codes: { 'CARD.NOT_ACTIVE': { status: 422 } },
  rateGroups: { cards: { account: { limit: 10, windowMs: 60_000 } } },
  create: () => ({ handlers: new Map() }),
  source: 'test',
  isOurs: false,
}

describe('a document that repeats what the gateway has', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-document-'))
  let catalogue: Catalogue
  let printed: Printed

  beforeAll(async () => {
    catalogue = catalogueOf([...ours, cards])
    printed = JSON.parse(JSON.stringify(await openApiDocument(catalogue, { version: '1.0.0' })))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const read = (
    document: object,
    domains: readonly LoadedDomain[] = ours,
    isOff: (domain: LoadedDomain) => boolean = () => false,
  ) => {
    const file = join(folder, 'document.json')
    writeFileSync(file, JSON.stringify(document))
    return readDocument(file, declarationsOf(domains, isOff))
  }
  const readChanged = (change: (document: Printed) => void, domains?: readonly LoadedDomain[]) => {
    const document = structuredClone(printed)
    change(document)
    return read(document, domains)
  }
  const domainsOf = (result: ReturnType<typeof read>): readonly LoadedDomain[] => {
    if ('errors' in result) throw new Error(result.errors.join('\n'))
    return result.domains
  }
  /** The first domain has the declarations of the document. */
  const declaredBy = (result: ReturnType<typeof read>): Printed['x-portico'] => {
    const [first] = domainsOf(result)
    return JSON.parse(JSON.stringify(first?.contract))
  }

  test('names the fields that a step-up confirms; a document without them is of an earlier release', () => {
    const path = '/web/v1/consumer/withdrawals'
    const marks = (document: Printed) => marksOf(document, path, 'post')
    expect(marks(printed)).toMatchObject({ confirms: ['walletBizId', 'withdrawalChannelBizId', 'amount'] })
    domainsOf(readChanged((document) => void Reflect.deleteProperty(marks(document), 'confirms')))
    const result = readChanged((document) => void Reflect.set(marks(document), 'confirms', ['amount']))
    expect(result).toMatchObject({ errors: [expect.stringContaining('x-portico: confirms: differs')] })
  })

  test('can have the codes of hooks, which this gateway does not run; without the hooks they differ', () => {
    const path = '/web/v1/consumer/transfer/command/create'
    const change = (document: Printed, before?: readonly string[]) => {
      const marks = marksOf(document, path, 'post')
      marks.refuses.push('CARD.LOST')
      if (before) Reflect.set(marks, 'before', before)
    }
    domainsOf(readChanged((document) => change(document, ['cards'])))
    const result = readChanged((document) => change(document))
    expect(result).toMatchObject({ errors: [expect.stringContaining('x-portico: refuses: differs')] })
  })

  test('adds only the operations, codes, permissions and rate groups that the gateway lacks', () => {
    const result = read(printed)
    expect(domainsOf(result).flatMap(({ operations }) => Object.keys(operations))).toEqual(['convertCard'])
    const { codes, permissions, rateGroups } = declaredBy(result)
    expect(codes).toEqual(cards.codes)
    expect(permissions.workspace).toMatchObject({ card: { actions: ['read', 'block'], peopleOnly: ['block'] } })
    expect([Object.keys(permissions.workspace), permissions.operator]).toEqual([['card'], {}])
    expect(rateGroups).toEqual(cards.rateGroups)
    expect(catalogueOf([...ours, ...domainsOf(result)]).operations).toHaveLength(catalogue.operations.length)
  })

  test('adds nothing to a gateway that has every domain', () => {
    expect(read(printed, [...ours, cards])).toEqual({ domains: [] })
  })

  test('can lack the operations and chains of the other portal', async () => {
    const document = await openApiDocument(catalogueOfPortal(catalogue, 'CONSUMER'), { version: '1.0.0' })
    expect(read(document, [...ours, cards])).toEqual({ domains: [] })
  })

  test('a domain that is off stays off, and a code and a permission that another domain uses remain declared', () => {
    const result = read(printed, ours, ({ name }) => name === 'exchanges')
    const names = domainsOf(result).map(({ name }) => name)
    expect(names).toEqual(['cards'])
    const { codes, permissions } = declaredBy(result)
    expect(codes).toEqual({ 'EXCHANGE.RATE_UNAVAILABLE': { status: 422 }, ...cards.codes })
    expect(Object.keys(permissions.workspace).toSorted()).toEqual(['card', 'exchange'])
    expect(permissions.workspace.exchange?.actions).toEqual(['create'])
    const enabled = ours.filter(({ name }) => name !== 'exchanges')
    const { operations } = catalogueOf([...enabled, ...domainsOf(result)])
    expect(operations.filter(({ id }) => id.startsWith('exchanges.'))).toEqual([])
  })

  test('differences of a domain that is off are ignored', () => {
    const document = structuredClone(printed)
    marksOf(document, '/web/v1/consumer/exchanges/quote', 'post').policy.rate = 'general'
    expect(domainsOf(read(document, ours, ({ name }) => name === 'exchanges')).map(({ name }) => name)).toEqual([
      'cards',
    ])
  })

  const wallets = '/web/v1/consumer/wallets'
  const differs = (field: string) =>
    `GET ${wallets}: x-portico: ${field}: differs from the operation wallets.list of the gateway`
  const ofWallets = (change: (marks: Marks) => void) => (document: Printed) => change(marksOf(document, wallets))
  const set = (changes: Partial<Marks>) => ofWallets((marks) => Object.assign(marks, changes))
  const setPolicy = (changes: object) => ofWallets(({ policy }) => Object.assign(policy, changes))
  test.each<[string, (document: Printed) => void, string]>([
    ['another path', set({ path: '/purses' }), differs('path')],
    ['another name', set({ name: 'listPurses' }), differs('name')],
    ['another policy', setPolicy({ stepUp: true }), differs('policy.stepUp')],
    ['another permission', setPolicy({ permission: null }), differs('policy.permission')],
    ['another chain', set({ chains: ['consumer', 'system'] }), differs('chains')],
    ['another refusal', set({ refuses: ['STATE.CONFLICT'] }), differs('refuses')],
    [
      'an unknown operation of a domain of the gateway',
      set({ id: 'wallets.count' }),
      `GET ${wallets}: x-portico: id: wallets.count is not an operation of the domain wallets of the gateway`,
    ],
    [
      'another status of a code',
      ({ 'x-portico': { codes } }) => Object.assign(codes, { 'STATE.CONFLICT': { status: 422 } }),
      'x-portico: codes: STATE.CONFLICT: must have the status 409, as in the gateway',
    ],
    [
      'a permission that API keys can hold',
      ({ 'x-portico': { permissions } }) => delete permissions.workspace.wallet?.peopleOnly,
      'x-portico: permissions: workspace: wallet:create: must be in peopleOnly, as in the gateway',
    ],
  ])('%s is an error that names the operation or the declaration', (_name, change, error) => {
    expect(readChanged(change)).toEqual({ errors: [error] })
  })

  test('another limit of a rate group is an error that names it', () => {
    const change = (document: Printed): void => {
      document['x-portico'].rateGroups.cards = { account: { limit: 11, windowMs: 60_000 } }
    }
    const error = 'x-portico: rateGroups: cards: differs from the gateway'
    expect(readChanged(change, [...ours, cards])).toEqual({ errors: [error] })
  })

  test('an operation of identity with another policy is an error', () => {
    const result = readChanged((document) => {
      marksOf(document, '/web/v1/consumer/security/sessions').policy.rate = 'money'
    })
    const error = 'x-portico: policy.rate: differs from the operation sessions.list of the gateway'
    expect(result).toEqual({ errors: [`GET /web/v1/consumer/security/sessions: ${error}`] })
  })
})
