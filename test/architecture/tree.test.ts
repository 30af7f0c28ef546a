import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readSources, type Source } from './check.ts'
import { crowdedFolders, importCycles, measureTree } from './tree.ts'

const sources = readSources(fileURLToPath(new URL('../../src', import.meta.url)))

describe('the source tree', () => {
  const measures = measureTree(sources, 15)

  test('has at most 945 files of a readable size', () => {
    expect(measures.files).toBeLessThanOrEqual(945)
    expect(measures.medianLines).toBeGreaterThanOrEqual(50)
    // docs/decisions/0120
    expect(measures.medianLines).toBeLessThanOrEqual(95)
    expect(measures.ninthDecileLines).toBeLessThanOrEqual(223)
    expect(measures.largest.lines).toBeLessThanOrEqual(400)
  })

  test('has at most 30 files under 15 lines', () => {
    expect(measures.small.length, measures.small.join('\n')).toBeLessThanOrEqual(30)
  })

  test('has at most 15 files on one level of a folder', () => {
    expect(crowdedFolders(sources, 15)).toEqual([])
  })

  test('has no import cycle, type-only imports included', () => {
    expect(importCycles(sources)).toEqual([])
  })
})

/** A name has the same meaning in every folder. */
const sharedNames = new Set(['index', 'contract', 'handlers', 'service', 'rules', 'store', 'view', 'schema'])

describe('a domain', () => {
  const domains = [...new Set(sources.flatMap(({ path }) => /^banking\/([^/]+)\//.exec(path)?.[1] ?? []))]

  test.each(domains)('%s has an entry, a contract and handlers', (domain) => {
    const names = sources.flatMap(({ path }) => new RegExp(`^banking/${domain}/(\\w+)\\.ts$`).exec(path)?.[1] ?? [])
    expect(names).toEqual(expect.arrayContaining(['index', 'contract', 'handlers']))
  })

  test.each(domains)('%s builds its handlers with createHandlers, and its views in view.ts', (domain) => {
    const texts = new Map(
      sources.filter(({ path }) => path.startsWith(`banking/${domain}/`)).map(({ path, text }) => [path, text]),
    )
    expect(texts.get(`banking/${domain}/handlers.ts`)).toMatch(/^export function createHandlers\(/m)
    const misplaced = [...texts].filter(
      ([path, text]) => !/\bview\.ts$/.test(path) && /function to\w*View\(/.test(text),
    )
    expect(misplaced.map(([path]) => path)).toEqual([])
  })

  test('uses the common file names, or names of its subject', () => {
    const variants = sources
      .map(({ path }) => path)
      .filter((path) => /^banking\//.test(path))
      .filter((path) => {
        const name = posix.basename(path, '.ts')
        // `account-handlers` is the same kind of file as `handlers`.
        const suffix = name.split('-').at(-1) ?? ''
        return name.includes('-') && suffix !== 'schema' && suffix !== 'store' && sharedNames.has(suffix)
      })
    expect(variants).toEqual([])
  })
})

const rejectedFiles =
  /(^|\/)(door|fault-door|answer|last-answer|rest-of-body|pipelined|malformed|paced|read-bounded|edge-view|access-memory|judged-again|serve-stage|outside|shared|metered|book-watch|refused-commands|together|running|observing|faults|alone|withoutTimeouts|remains|renewal|is-apart|is-during|part-of|moment|demand-writable|clock-difference|announcements|ask|late|json-in|read-at-most|acting|telling|outcome|maker-store|remembered|running-out|forgetting|opening|live-login|pre-login|turns|throttle|liveness|announced|bound-store|running-store|prove|upgrade|set-by-token|told)\.ts$/
const rejectedIdentifiers =
  /\b(told|tell[A-Z]\w*|lookAt|createAnswers|Asked|AccessMemory|judgedAgain|againWhereLost|whenReady|untilGivenUp|anew|cameAt|restMs|letGo|carryOut|wayOf|servedNowhere|Outside|longest[A-Z]\w*|\w+KeptMs|demand[A-Z]\w*|judge[A-Z]\w*)\b/g

function codeOf({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1')
}

describe('names', () => {
  test('no file has a rejected name', () => {
    expect(sources.map(({ path }) => path).filter((path) => rejectedFiles.test(path))).toEqual([])
  })

  test('no identifier has a rejected name', () => {
    const found = sources.flatMap((source) =>
      [...new Set(codeOf(source).match(rejectedIdentifiers) ?? [])].map((name) => `${source.path}: ${name}`),
    )
    expect(found).toEqual([])
  })

  test('a rejected file name and a rejected identifier are found', () => {
    expect(rejectedFiles.test('gateway/door.ts')).toBe(true)
    expect('const told = tellOrder(order)'.match(rejectedIdentifiers)).toEqual(['told', 'tellOrder'])
  })

  test('an import cycle and a crowded folder are found', () => {
    const cycle = [
      { path: 'a/a.ts', text: "import type { B } from './b.ts'" },
      { path: 'a/b.ts', text: "import './a.ts'" },
    ]
    expect(importCycles(cycle)).toEqual(['a/a.ts -> a/b.ts -> a/a.ts'])
    expect(crowdedFolders(cycle, 1)).toEqual(['a: 2 files'])
  })
})
