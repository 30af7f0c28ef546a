import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { locales, readTexts } from '../../scripts/apps.ts'
import { root } from '../harness/settings.ts'

const files = globSync('apps/**/*.{ts,tsx}', { cwd: root })
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
const apps = ['console', 'portal'] as const

/** The imports that are not files of the applications. */
const packages = new Set(['portal-client', 'portico-client', 'texts', ...Object.keys(manifest.devDependencies)])

function importsOf(text: string): string[] {
  return [
    ...text.matchAll(/^(?:import|export)[^;]*?from '([^'\n]+)'|\bimport\('([^'\n]+)'\)|^import '([^'\n]+)'/gm),
  ].flatMap(([, ...names]) => names.find((name) => name !== undefined) ?? [])
}

function packageOf(name: string): string {
  return name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : (name.split(/[/:]/)[0] ?? '')
}

/** Keys in single quotes that name a group of texts. */
function keysIn(text: string, groups: ReadonlySet<string>): string[] {
  return [...text.matchAll(/'([\w-]+)\.([\w]+)'/g)]
    .filter(([, group = '']) => groups.has(group))
    .map(([, group, key]) => `${group}.${key}`)
}

describe('the applications', () => {
  test('use the public interface only: their own files, the client and packages', () => {
    const foreign = files.flatMap(({ path, text }) => {
      const folder = path.split('/')[1]
      return importsOf(text)
        .filter((name) => {
          if (!name.startsWith('.')) return name !== 'i18next' && !packages.has(packageOf(name))
          const target = join(path, '..', name)
          return !target.startsWith(`apps/${folder}/`) && !target.startsWith('apps/kit/')
        })
        .map((name) => `${path}: ${name}`)
    })
    expect(foreign).toEqual([])
  })

  test('insert no HTML from texts', () => {
    const found = files.filter(({ text }) => /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML/.test(text))
    expect(found.map(({ path }) => path)).toEqual([])
  })

  test.each(apps)('%s: every text that the code names exists, and every text is used', (app) => {
    const texts = readTexts(app).en
    const groups = new Set(Object.keys(texts).map((key) => key.split('.')[0] ?? ''))
    const own = files.filter(({ path }) => path.startsWith(`apps/${app}/`) || path.startsWith('apps/kit/'))
    const used = new Set(own.flatMap(({ text }) => keysIn(text, groups)))
    const known = Object.keys(texts)
    expect([...used].filter((key) => !known.some((each) => each === key || each.startsWith(`${key}_`)))).toEqual([])
    // A template names several, such as `kit.theme_${each}`. The other application may use a text of the kit.
    const code = files.map(({ text }) => text).join('\n')
    const prefixes = [...code.matchAll(/`([\w-]+\.[\w-]*)\$\{/g)].map(([, prefix = '']) => prefix)
    const everywhere = new Set(keysIn(code, groups))
    const isUsed = (key: string): boolean =>
      everywhere.has(key) ||
      everywhere.has(key.replace(/_\w+$/, '')) ||
      prefixes.some((prefix) => key.startsWith(prefix))
    expect(known.filter((key) => !isUsed(key))).toEqual([])
  })

  test.each(apps)('%s: every language has the same values in a text', (app) => {
    const texts = readTexts(app)
    const valuesOf = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name).sort()
    const different = Object.entries(texts.en).flatMap(([key, english]) =>
      locales
        .filter((locale) => valuesOf(texts[locale][key] ?? '').join() !== valuesOf(english).join())
        .map((locale) => `${key} in ${locale}`),
    )
    expect(different).toEqual([])
  })

  test.each(apps)('%s: choices of coded values have the labels of the gateway', (app) => {
    const texts = readTexts(app)
    const others = locales.flatMap((locale) => {
      const labels = labelsOf(locale)
      return Object.entries(texts[locale]).flatMap(([key, text]) => {
        const code = /\.(?:status|delivery|flow|outcome)_([A-Z_]+)$/.exec(key)?.[1]
        const known = code === undefined ? undefined : labels.get(code)
        return known === undefined || known.has(text)
          ? []
          : [`${key} in ${locale}: ${text}, not ${[...known].join(' or ')}`]
      })
    })
    expect(others).toEqual([])
  })

  test('every class of the style sheets is used', () => {
    const css = globSync('apps/**/*.css', { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'))
    const selectors = css.map((text) => text.replace(/\/\*[\s\S]*?\*\/|\{[^{}]*\}/g, ' ')).join('\n')
    const classes = new Set([...selectors.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name))
    const code = files.map(({ text }) => text).join('\n')
    const words = new Set(code.match(/[\w-]+/g))
    // A template names several, such as `badge-${tone}`. uPlot has further classes.
    const prefixes = [...code.matchAll(/([\w-]+-)\$\{/g)].map(([, prefix = '']) => prefix)
    const isUsed = (name: string): boolean =>
      words.has(name) || name.startsWith('u-') || prefixes.some((prefix) => name.startsWith(prefix))
    expect([...classes].filter((name) => !isUsed(name))).toEqual([])
  })
})

/** The labels of coded values in a language, by code. Domains can have different labels for one code. */
function labelsOf(locale: string): ReadonlyMap<string, ReadonlySet<string>> {
  const labels = new Map<string, Set<string>>()
  for (const path of globSync(`{assets,src/**}/locales/${locale}.yaml`, { cwd: root }))
    for (const [, code = '', label = ''] of readFileSync(join(root, path), 'utf8').matchAll(
      /^ +([A-Z_]+):\s*\{\s*label: "?([^,"]+)"?,/gm,
    ))
      labels.set(code, (labels.get(code) ?? new Set()).add(label))
  return labels
}
