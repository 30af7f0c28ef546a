import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { operatorRoles } from '../../src/banking/operators/index.ts'
import { catalogue, codes, operatorPermissions, workspacePermissions } from '../../src/contract/index.ts'
import { root } from '../harness/settings.ts'

const pages = globSync('docs/{guides,concepts}/*.md', { cwd: root }).concat(
  'docs/security.md',
  'docs/appendix/attacks.md',
)
function read(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}
function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, '')
}

/** Every `code` in the text of the pages, with its page. */
const mentions = pages.flatMap((page) =>
  [...withoutBlocks(read(page)).matchAll(/`([^`\s]+)`/g)].map(([, text = '']) => ({ page, text })),
)
function unknown(pattern: RegExp, isKnown: (text: string) => boolean): string[] {
  return mentions
    .filter(({ text }) => pattern.test(text) && !isOther(text) && !isKnown(text))
    .map(({ page, text }) => `${page}: ${text}`)
}

/** Names of example domains, of the client's own codes, of an npm script, a pair of values, a module and files. */
const others = new Set(['check:audit', 'sequence:hash', 'node:test', 'profile.yaml', 'passThrough.legacy'])
function isOther(text: string): boolean {
  return others.has(text) || /^(loans?|cards?|LOANS?|CARDS?|CLIENT)[.:]|\.readCard\./.test(text)
}

describe('names in the guides and concepts', () => {
  test('permissions are in the catalogue', () => {
    const known = new Set<string>([...workspacePermissions, ...operatorPermissions])
    expect(unknown(/^[a-z-]+:[a-z]+$/, (text) => known.has(text))).toEqual([])
  })

  test('refusal codes are in the catalogue', () => {
    const known = new Set<string>(codes)
    expect(unknown(/^[A-Z_]+\.[A-Z_]+$/, (text) => known.has(text))).toEqual([])
  })

  test('operations are in the catalogue', () => {
    const known = new Set<string>(catalogue.map(({ id }) => id))
    const domains = new Set([...known].map((id) => id.split('.')[0]))
    const settings = settingNames()
    const isKnown = (text: string) =>
      !domains.has(text.split('.')[0] ?? '') || known.has(text) || isSetting(settings, text)
    expect(unknown(/^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/, isKnown)).toEqual([])
  })

  test('settings are in the configuration', () => {
    const settings = settingNames()
    const sections = new Set([...settings].map((name) => name.split('.')[0]))
    const operations = new Set<string>(catalogue.map(({ id }) => id))
    const isKnown = (text: string) =>
      !sections.has(text.split('.')[0] ?? '') || operations.has(text) || isSetting(settings, text)
    expect(unknown(/^[a-z][A-Za-z]*(\.(<\w+>|[A-Za-z]+))+$/, isKnown)).toEqual([])
  })
})

/** From the generated reference. */
function settingNames(): ReadonlySet<string> {
  const rows = read('docs/reference/configuration.md').matchAll(/^\| `((?:[\w.]|<[^>]+>)+)` \|/gm)
  return new Set([...rows].map(([, name = '']) => name))
}

/** A part of the configuration, or a member of a map such as `limits.groups.<group>`. */
function isSetting(settings: ReadonlySet<string>, text: string): boolean {
  const parts = text.split('.')
  return [...settings].some((name) => {
    const known = name.split('.')
    return (
      known.length >= parts.length &&
      parts.every((part, index) => part === known[index] || known[index]?.startsWith('<') || part.startsWith('<'))
    )
  })
}

describe('roles of operators', () => {
  const granted = (role: string): string[] => operatorPermissions.filter((code) => operatorRoles[role]?.(code))
  const guide = read('docs/guides/operators.md')

  test('docs/guides/operators.md lists the permissions of each role', () => {
    const rows = [...guide.matchAll(/^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$/gm)].map(([, role = '', cell = '']) => {
      const listed = cell.trim() === 'none' ? [] : cell.split(',').map((code) => code.trim().replaceAll('`', ''))
      return [role, cell.trim() === 'all permissions' ? granted(role) : listed.toSorted()]
    })
    const expected = Object.keys(operatorRoles).map((role) => [
      role,
      role === 'administrator'
        ? granted(role)
        : granted(role)
            .filter((code) => !/:(read|observe)$/.test(code))
            .toSorted(),
    ])
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(expected))
  })

  test('docs/guides/operators.md shows the number of permissions of the created operator', () => {
    const [, role = ''] = /operator create .*--role (\w+)/.exec(guide) ?? []
    const [, count = ''] = /^created the operator \S+ with (\d+) permissions$/m.exec(guide) ?? []
    expect([role, Number(count)]).toEqual(['confirmer', granted('confirmer').length])
  })

  test.each(pages.filter((page) => /The permission `[\w:-]+` belongs to the roles/.test(read(page))))(
    '%s names the roles that hold a permission',
    (page) => {
      for (const [, code = '', list = ''] of read(page).matchAll(
        /The permission `([\w:-]+)` belongs to the roles ([^.]+)\./g,
      )) {
        const named = [...list.matchAll(/`(\w+)`/g)].map(([, role = '']) => role)
        expect(named.toSorted()).toEqual(
          Object.keys(operatorRoles)
            .filter((role) => granted(role).includes(code))
            .toSorted(),
        )
      }
    },
  )
})
