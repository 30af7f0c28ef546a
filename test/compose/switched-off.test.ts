import { describe, expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { buildOpenApiDocument, wordsOf } from '../../src/compose/catalogue.ts'
import { catalogueOf, enabledDomains, loadAll } from '../../src/compose/extensions.ts'
import type { Catalogue } from '../../src/contract/index.ts'
import { type Code, domainOf, pipelineCodes } from '../../src/kernel/index.ts'
import * as ledger from '../../src/ledger/contract.ts'

const { domains: all } = await loadAll(bankingDomains, { extensions: [], operations: [], domains: {} })

const required = ['members', 'workspaces', 'operators']
const optional = all.map(({ name }) => name).filter((name) => !required.includes(name))

/** The domain and those that use it, directly or not. */
function withUsers(name: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const { name: user, uses = [] } of all) if (uses.includes(name)) withUsers(user, found)
  return found
}

function without(names: Iterable<string>) {
  const settings = { domains: Object.fromEntries([...names].map((name) => [name, 'off' as const])) }
  return enabledDomains(all, settings)
}

function declarationsIn(catalogue: Catalogue) {
  return {
    operations: catalogue.operations.map(({ id }) => id),
    'export names': catalogue.namedOperations.map(([name]) => name),
    paths: catalogue.operations.map(({ path }) => path),
    'workspace permissions': catalogue.workspacePermissions,
    'operator permissions': catalogue.operatorPermissions,
    'API key permissions': catalogue.apiKeyPermissions,
    'rate groups': [...catalogue.rateGroups.keys()],
    'coded families': [...catalogue.codedFamilies.keys()],
    'refusal codes': catalogue.codes,
    'routable domains': catalogue.routableDomains,
    summaries: [...catalogue.summaries.keys()],
    'order types': [...catalogue.ledgerTypes.orders]
      .filter(([, { owner }]) => owner !== 'ledger')
      .map(([name]) => name),
  }
}

/** `EXCHANGE` for exchanges and `API_KEY` for apiKeys: coded values and order types begin with it. */
function markOf(name: string): string {
  return name
    .replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()
    .replace(/S$/, '')
}

/** Every value of an `enum` or `const` in a document. */
function valuesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { enum: listed, const: only } = schema as { enum?: unknown; const?: unknown }
  const own = [...(Array.isArray(listed) ? listed : []), only].filter((value) => typeof value === 'string')
  return [...own, ...Object.values(schema).flatMap(valuesIn)]
}

/** The pipeline and the ledger cannot be off, and extensions can refuse with their codes. */
const alwaysDeclared = { ...pipelineCodes, ...ledger.codes }

function unusedPermissions(catalogue: Catalogue): string[] {
  return [...catalogue.workspacePermissions, ...catalogue.operatorPermissions].filter(
    (code) => !catalogue.operations.some(({ policy }) => policy.permission === code),
  )
}

function listOf(declared: Readonly<Record<string, readonly string[]>>, kind: string): readonly string[] {
  return declared[kind] ?? []
}

const complete = catalogueOf(all)
const words = wordsOf(complete, all)

describe.each(optional)('%s: off', (name) => {
  const off = withUsers(name)
  const domains = without(off)
  const catalogue = catalogueOf(domains)

  test('the catalogue has the declarations of the other domains, and no others', () => {
    const kept = declarationsIn(catalogue)
    for (const kind of Object.keys(kept))
      expect([
        kind,
        listOf(kept, kind).filter((each) => !listOf(declarationsIn(complete), kind).includes(each)),
      ]).toEqual([kind, []])
    expect(kept.operations).toEqual(complete.operations.map(({ id }) => id).filter((id) => !off.has(domainOf(id))))
    expect(unusedPermissions(catalogue)).toEqual(unusedPermissions(complete))
    const refused: ReadonlySet<string> = new Set(catalogue.operations.flatMap(({ refuses }) => refuses))
    const wereRefused = new Set(complete.operations.flatMap(({ refuses }) => refuses))
    const isLeft = (code: Code) => wereRefused.has(code) && !refused.has(code) && !(code in alwaysDeclared)
    expect(catalogue.codes.filter(isLeft)).toEqual([])
  })

  test('the OpenAPI document names no code, permission, tag or component of the domain', async () => {
    const document = await buildOpenApiDocument(catalogue, wordsOf(catalogue, domains))
    const before = await buildOpenApiDocument(complete, words)
    const {
      tags = [],
      components,
      paths,
    } = document as { tags?: { name: string }[]; components: { schemas: object }; paths: object }
    expect(tags.filter((tag) => off.has(tag.name))).toEqual([])
    // A SANDBOX workspace exists without the domain that resets it.
    const marks = [...off].filter((each) => each !== 'sandbox').map(markOf)
    const isForeign = (value: string) => marks.some((mark) => new RegExp(`(^|_)${mark}S?(_|$)`).test(value))
    expect(valuesIn(document).filter(isForeign)).toEqual([])
    const text = JSON.stringify(document)
    const gone = (kind: string) => {
      const kept = listOf(declarationsIn(catalogue), kind)
      return listOf(declarationsIn(complete), kind).filter((each) => !kept.includes(each))
    }
    for (const kind of [
      'operations',
      'workspace permissions',
      'operator permissions',
      'refusal codes',
      'paths',
    ] as const)
      expect([kind, gone(kind).filter((each) => text.includes(`"${each}"`))]).toEqual([kind, []])
    const unused = Object.keys(components.schemas).filter((each) => !text.includes(`"#/components/schemas/${each}"`))
    expect(unused).toEqual([])
    expect(Object.keys(paths).filter((path) => !(path in (before.paths as object)))).toEqual([])
  })
})

test('a stored code of a domain that is off keeps its label and number', () => {
  const domains = without(withUsers('exchanges'))
  const catalogue = catalogueOf(domains)
  const [kept, full] = [wordsOf(catalogue, domains), words]
  for (const [family, code] of [
    ['exportType', 'EXCHANGES'],
    ['flowType', 'EXCHANGE'],
  ] as const) {
    const known = complete.codedFamilies.get(family)
    if (!known) throw new Error(family)
    expect(catalogue.codedFamilies.get(family)?.codes).not.toContain(code)
    expect(kept.findCoded(known, code, 'ja')).toEqual(full.findCoded(known, code, 'ja'))
  }
})
