/*
 * Builds the applications in apps/ to dist/apps, which the gateway serves: `npm run build:apps`. Each one is bundled with
 * the client of its portal. The texts of all `texts.yaml` files become one module per language.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pid, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { load } from 'js-yaml'
import type { OutputChunk, Plugin } from 'rolldown'
import * as z from 'zod'
import { buildClientPackage, clientFolder } from './client-package.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = join(root, 'apps')
const target = join(root, 'dist/apps')

/** The folder below apps/, and the entry of the client that `portal-client` stands for. */
const apps = [
  { name: 'console', entry: 'system' },
  { name: 'portal', entry: 'consumer' },
] as const

/** Compressed by gzip. */
const maxFirstBytes = 200_000

export const locales = ['en', 'zh', 'zh-Hant', 'ja', 'vi'] as const
type Locale = (typeof locales)[number]

/** A text in every language, or a group of texts. */
const Text = z.strictObject({ en: z.string(), zh: z.string(), 'zh-Hant': z.string(), ja: z.string(), vi: z.string() })
const Texts = z.record(z.string(), Text)

/** The texts of a domain. */
const Permissions = z.object({ permission: z.record(z.string(), z.object({ name: z.string() })).default({}) })

/** Builds the applications unless they are up to date. Takes a few seconds. */
export async function buildApps(): Promise<void> {
  const fingerprint = fingerprintOf([
    ...globSync('apps/**/*.{ts,tsx,css,yaml,html,json}', { cwd: root }),
    ...globSync('src/{client,contract,kernel,identity,banking,gateway/observations,api}/**/*.ts', { cwd: root }),
    ...globSync('{assets,src/banking/*}/locales/*.yaml', { cwd: root }),
    ...['package-lock.json', 'scripts/apps.ts'],
  ])
  const mark = join(target, '.fingerprint')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === fingerprint) return
  const tools = await import('rolldown').catch(() => null)
  if (!tools) return void stdout.write('no applications: rolldown is not installed\n')
  buildClientPackage(join(root, clientFolder))
  const draft = `${target}.${pid}`
  for (const app of apps) await buildApp(tools.rolldown, app, join(draft, app.name))
  writeFileSync(join(draft, '.fingerprint'), fingerprint)
  rmSync(target, { recursive: true, force: true })
  renameSync(draft, target)
}

/**
 * The texts of an application, by language and key, such as `wallets.title`, and the names of permissions from the texts of the
 * gateway, such as `permission.wallet:read`. Throws for a missing language.
 */
export function readTexts(app: string): Record<Locale, Record<string, string>> {
  const texts: Record<Locale, Record<string, string>> = { en: {}, zh: {}, 'zh-Hant': {}, ja: {}, vi: {} }
  for (const locale of locales)
    for (const path of globSync(`{assets,src/banking/*}/locales/${locale}.yaml`, { cwd: root }))
      for (const [code, { name }] of Object.entries(
        Permissions.parse(load(readFileSync(join(root, path), 'utf8'))).permission,
      ))
        texts[locale][`permission.${code}`] = name
  for (const path of globSync(`{kit,${app}}/**/texts.yaml`, { cwd: sources }).sort()) {
    const group = basename(dirname(path))
    const parsed = Texts.safeParse(load(readFileSync(join(sources, path), 'utf8')))
    if (!parsed.success) throw new Error(`apps/${path}: ${z.prettifyError(parsed.error)}`)
    for (const [key, text] of Object.entries(parsed.data))
      for (const locale of locales) texts[locale][`${group}.${key}`] = text[locale]
  }
  return texts
}

function fingerprintOf(paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of [...paths].sort()) hash.update(path).update(readFileSync(join(root, path)))
  return hash.digest('base64url')
}

async function buildApp(
  rolldown: typeof import('rolldown').rolldown,
  { name, entry }: (typeof apps)[number],
  folder: string,
): Promise<void> {
  const client = join(root, clientFolder, 'client')
  await using bundle = await rolldown({
    input: { main: join(sources, name, 'main.tsx') },
    platform: 'browser',
    // Its paths lead to declarations.
    tsconfig: false,
    transform: { define: { 'process.env.NODE_ENV': '"production"' }, jsx: { runtime: 'automatic' } },
    resolve: {
      alias: {
        // The gateway that serves the application has its contract, so its replies need no check.
        'portal-client': join(client, 'unchecked', `${entry}.js`),
        'portico-client/passkeys': join(client, 'passkeys/index.js'),
        'portico-client/forms': join(client, 'forms.js'),
      },
    },
    plugins: [textModules(readTexts(name))],
    // Components of servers are not used.
    onLog: (level, log, handle) => {
      if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log)
    },
  })
  const { output } = await bundle.generate({
    format: 'esm',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
  })
  const chunks = output.filter((each): each is OutputChunk => each.type === 'chunk')
  const main = chunks.find(({ isEntry }) => isEntry)
  if (!main) throw new Error(`${name} has no entry`)
  const css = [
    ...globSync('kit/**/*.css', { cwd: sources }).sort(),
    ...globSync(`${name}/**/*.css`, { cwd: sources }).sort(),
  ]
    .map((path) => readFileSync(join(sources, path), 'utf8'))
    .join('\n')
  const style = `main-${createHash('sha256').update(css).digest('base64url').replace(/[-_]/g, '0').slice(0, 7)}Z.css`
  const html = readFileSync(join(sources, name, 'index.html'), 'utf8')
    .replace('%SCRIPT%', `/${name}/${main.fileName}`)
    .replace('%STYLE%', `/${name}/${style}`)
    .replace('%PRELOADS%', main.imports.map((file) => `<link rel="modulepreload" href="/${name}/${file}">`).join(''))
  writeFiles(folder, {
    'index.html': html,
    [style]: css,
    'licenses.txt': licensesOf(chunks.flatMap(({ moduleIds }) => moduleIds)),
    ...Object.fromEntries(chunks.map((each) => [each.fileName, each.code])),
  })
  const sizes = firstView(main, chunks).map(({ code }) => gzipSync(code).length)
  const size = sizes.reduce((sum, each) => sum + each, 0)
  stdout.write(`${name}: ${Math.ceil(size / 1000)} kB of script at first\n`)
  if (size > maxFirstBytes) throw new Error(`${name} loads more than ${maxFirstBytes / 1000} kB of script at first`)
}

/** `texts:en` and so on. */
function textModules(texts: Record<Locale, Record<string, string>>): Plugin {
  return {
    name: 'texts',
    resolveId: (id) => (id.startsWith('texts:') ? `\0${id}` : null),
    load: (id) => {
      const locale = locales.find((each) => id === `\0texts:${each}`)
      return locale ? `export default ${JSON.stringify(texts[locale])}` : null
    },
  }
}

/** The licenses of the packages that the bundle contains: most of them ask for it. */
function licensesOf(modules: readonly string[]): string {
  const packages = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
  return [...new Set(packages)]
    .sort()
    .flatMap((each) =>
      globSync('{LICENSE,license}*', { cwd: each }).map(
        (file) => `${each.split('/node_modules/').at(-1)}\n\n${readFileSync(join(each, file), 'utf8').trim()}\n`,
      ),
    )
    .join('\n\n')
}

/** The entry with its static imports. */
function firstView(main: OutputChunk, chunks: readonly OutputChunk[]): OutputChunk[] {
  const found = new Set([main])
  for (const { imports } of found) for (const each of chunks) if (imports.includes(each.fileName)) found.add(each)
  return [...found]
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), content)
    if (name === 'index.html') continue
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content))
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content))
  }
}

if (import.meta.main) {
  await buildApps()
  stdout.write(`${relative(root, target)} is up to date\n`)
}
