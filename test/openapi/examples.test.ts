import { describe, expect, test } from 'vitest'
import { localeDirectories } from '../../src/compose/catalogue.ts'
import { catalogue, codedFamilies, codes, numericCode } from '../../src/contract/index.ts'

import { listRefusals } from '../../src/contract/policies.ts'
import { type Code, chains, pathParamNames } from '../../src/kernel/index.ts'
import { readExamples } from '../../src/openapi/index.ts'
import { isJsonObject, type Json } from '../../src/openapi/json.ts'
import { createWords } from '../../src/platform/i18n/index.ts'
import { notImplemented } from '../e2e/not-implemented.ts'
import { faultsOfExample } from '../harness/recording/check.ts'

const file = new URL('../../docs/examples.json', import.meta.url)
const { operations, refusals } = readExamples(file)
const again = 'record again: RECORD_EXAMPLES=1 npx vitest run --project embedded test/e2e'

/** Operations that return 501 have no example, and neither have streams, which do not end, and SCIM. */
const served = catalogue.filter(
  ({ id, reply, protocol }) => reply !== 'events' && protocol === undefined && !notImplemented.includes(id),
)

/** No client can cause these reliably. */
const unseen = new Set(['REQUEST.MALFORMED', 'REQUEST.TIMEOUT', 'REQUEST.IN_PROGRESS', 'AUTH.PENDING_APPROVAL'])

describe(`the recorded examples (${again})`, () => {
  test.each(served.map((operation) => [operation.id, operation] as const))(
    '%s has an example, which its schemas allow',
    (id, operation) => {
      const example = operations.get(id)
      if (!example) throw new Error(again)
      expect(faultsOfExample(operation, example)).toEqual([])
      expect(Object.keys(example.params ?? {})).toEqual(pathParamNames(operation.path))
    },
  )

  test('none belongs to an unknown operation', () => {
    const ids = new Set(catalogue.map(({ id }) => id))
    expect([...operations.keys()].filter((id) => !ids.has(id))).toEqual([])
  })

  test('each has the envelope of its chain', () => {
    const wrong = served.filter(({ id, reply, chains: [first] }) => {
      const envelope = operations.get(id)?.reply
      return reply !== 'stream' && !JSON.stringify(envelope).startsWith(`{"version":"${chains[first].envelope}"`)
    })
    expect(wrong.map(({ id }) => id)).toEqual([])
  })

  test('every refusal of every operation has one', () => {
    const all = new Set(served.flatMap((each) => each.chains.flatMap((chain) => listRefusals(each, chain))))
    expect([...all].filter((code) => !refusals.has(code) && !unseen.has(code))).toEqual([])
    const names = new Set<string>([...codes, ...codes.map(numericCode)])
    expect([...refusals.keys()].filter((code) => !names.has(code))).toEqual([])
  })

  test('each has the current texts of coded values and refusals', () => {
    const words = createWords({ directories: localeDirectories, codes, families: codedFamilies })
    const texts = [...codedFamilies.values()].flatMap((family) =>
      family.codes.map((code) => {
        const { value, label, description } = words.coded(family, code, 'en')
        return [value, { code, value, label, description }] as const
      }),
    )
    const known = new Map<Json, object>(texts)
    const codedIn = (part: Json | undefined): Json[] => {
      if (Array.isArray(part)) return part.flatMap(codedIn)
      if (!isJsonObject(part)) return []
      return 'description' in part && 'label' in part ? [part] : Object.values(part).flatMap(codedIn)
    }
    const coded = [...operations.values()].flatMap(({ reply }) => codedIn(reply))
    expect(coded.length).toBeGreaterThan(100)
    for (const each of coded) expect(each).toEqual(isJsonObject(each) && known.get(each.value ?? null))
    const names = Object.keys(codes) as Code[]
    for (const name of names) {
      const refusal = refusals.get(name)
      if (!isJsonObject(refusal)) continue
      const message = String(refusal.message)
      expect(message).toBe(words.refusal(name, 'en', message.split(': ')[1]))
    }
  })

  test('none contains a secret', () => {
    const text = JSON.stringify([[...operations], [...refusals]])
    expect(text).not.toMatch(/eyJ[\w-]{10}|Portico-demo-2026|ptk_[0-9a-f]{12}_|-----BEGIN/)
    expect(text).not.toMatch(/"(secret|accessToken|refreshToken|payload)":"(?!<)/)
  })
})
