import { bankingCatalogue, type Catalogue } from '../contract/index.ts'
import { fallbackLocale, type Locale, locales, type Words } from '../kernel/index.ts'
import type { NestedTexts } from './marks.ts'

/** Every gateway has these texts. */
const ownKeys: ReadonlySet<string> = new Set(pathsIn(bankingCatalogue).map(keyOf))

interface Branch {
  [name: string]: string | Branch
}

/**
 * Returns the texts of codes, permissions and coded values that are not Portico's own, by language. Omits translations
 * that equal the English text.
 */
export function foreignTexts(catalogue: Catalogue, words: Words): NestedTexts {
  const texts: NestedTexts = {}
  const paths = pathsIn(catalogue).filter((path) => !ownKeys.has(keyOf(path)))
  for (const locale of locales) {
    const branch: Branch = {}
    for (const path of paths) {
      const text = findText(words, path, locale)
      if (text === undefined) continue
      if (locale === fallbackLocale || text !== findText(words, path, fallbackLocale)) insert(branch, path, text)
    }
    if (Object.keys(branch).length > 0) texts[locale] = branch
  }
  return texts
}

type Path = readonly string[]

/** Returns the paths of a catalogue's texts in the files of locales. */
function pathsIn({ codes, permissionTable, codedFamilies }: Catalogue): Path[] {
  return [
    ...codes.flatMap((code) => [
      ['refusal', code],
      ['refusal', `${code}_field`],
    ]),
    ...[...permissionTable.workspace, ...permissionTable.operator].flatMap(({ code }) => [
      ['permission', code, 'name'],
      ['permission', code, 'description'],
    ]),
    ...[...codedFamilies.values()].flatMap((family) =>
      family.codes.flatMap((code) => [
        ['coded', family.name, code, 'label'],
        ['coded', family.name, code, 'description'],
      ]),
    ),
  ]
}

function keyOf(path: Path): string {
  return path.join('.')
}

/** Returns undefined if the text does not exist. */
function findText(words: Words, path: Path, locale: Locale): string | undefined {
  const key = keyOf(path)
  // Keeps the placeholder of a text that names a field.
  const text = words.text(key, locale, { field: '{{field}}' })
  return text === key ? undefined : text
}

function insert(branch: Branch, [name = '', ...rest]: Path, text: string): void {
  if (rest.length === 0) {
    branch[name] = text
    return
  }
  const child = branch[name]
  const next = typeof child === 'object' ? child : {}
  branch[name] = next
  insert(next, rest, text)
}
