import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const page = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8')

function listed(mark: string): { count: number; files: string[] } {
  const section = new RegExp(`<!-- ${mark} -->([\\s\\S]*)<!-- /${mark} -->`).exec(page)?.[1] ?? ''
  const rows = [...section.matchAll(/^\| `(src[^`]*)` \| (.+) \|$/gm)]
  return {
    count: Number(/(\d+) files/.exec(section)?.[1]),
    files: rows.flatMap(([, folder, names = '']) => names.split(', ').map((name) => `${folder}/${name}.ts`)),
  }
}

describe.each([
  ['transfer', 80],
  ['sign-in', 31],
] as const)('the files of a %s in ARCHITECTURE.md', (mark, limit) => {
  const { count, files } = listed(mark)

  test(`are at most ${limit}, as many as the page states`, () => {
    expect(files).toHaveLength(count)
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThanOrEqual(limit)
  })

  test('exist', () => {
    expect(files.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url)))).toEqual([])
  })
})
