import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { imagesIn, parseImage } from '../../scripts/images.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
function text(path: string): string {
  return readFileSync(`${root}${path}`, 'utf8')
}
function json(path: string): unknown {
  return JSON.parse(text(path))
}

const Versions = z.record(z.string(), z.string())
const Package = z.object({
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().optional(),
  hasInstallScript: z.boolean().optional(),
  optionalDependencies: Versions.optional(),
})
const Lock = z.object({ packages: z.record(z.string(), Package) })

/** The entries of the clone itself. They have no integrity, because npm does not download them. */
const own = new Set(['', 'node_modules/portico-node', 'scripts/node'])

/** Returns the folders in which Node looks for a package that the package at `path` imports. */
function lookup(path: string, name: string): string[] {
  const candidates = [`${path}/node_modules/${name}`]
  for (let at = path.lastIndexOf('/node_modules/'); at > 0; at = path.lastIndexOf('/node_modules/', at - 1))
    candidates.push(`${path.slice(0, at)}/node_modules/${name}`)
  return [...candidates, `node_modules/${name}`]
}

describe.each([
  ['package.json', 'package-lock.json', 80],
  ['tools/package.json', 'tools/package-lock.json', 40],
])('%s and %s', (manifest, lock, minimumOfOptional) => {
  const { packages } = Lock.parse(json(lock))
  const downloaded = Object.entries(packages).filter(([path]) => !own.has(path))

  test('every downloaded package has its integrity, on every platform', () => {
    expect(downloaded.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))).toEqual([])
  })

  test('no package comes from a git repository or a URL', () => {
    expect(downloaded.filter(([, { resolved, link }]) => resolved !== undefined || link)).toEqual([])
  })

  test('the packages of all platforms are locked: npm omits one silently if a mirror lacks it', () => {
    const wanted = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).map((name) => ({ path, name })),
    )
    expect(wanted.length).toBeGreaterThan(minimumOfOptional)
    const missing = wanted.filter(({ path, name }) => !lookup(path, name).some((each) => packages[each]))
    expect(missing).toEqual([])
  })

  test('every install script is denied', () => {
    const { allowScripts = {} } = z
      .object({ allowScripts: z.record(z.string(), z.boolean()).optional() })
      .parse(json(manifest))
    const withScript = downloaded.flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript ? path.replace(/^.*node_modules\//, '') : [],
    )
    expect(Object.fromEntries(withScript.map((name) => [name, false]))).toEqual(allowScripts)
  })
})

test('scripts/node and the image name the same version of Node', () => {
  const { version, optionalDependencies } = z
    .object({ version: z.string(), optionalDependencies: Versions })
    .parse(json('scripts/node/package.json'))
  expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([version]))
  expect(imagesIn(text('Dockerfile')).map((image) => parseImage(image).tag)).toEqual([`${version}-bookworm-slim`])
})

test.each(['Dockerfile', 'compose.yaml', ...globSync('deploy/**/*.yaml', { cwd: root })])(
  '%s names images of others by digest only',
  (file) => {
    for (const image of imagesIn(text(file))) expect(() => parseImage(image)).not.toThrow()
    // Every line that names an image was read.
    const lines = text(file).match(/^(?:FROM|ARG BASE| *(?:- )?image:).*$/gm) ?? []
    const exempt = lines.filter((line) => /^FROM \$\{BASE\}|registry\.example\.com\/portico:/.test(line))
    expect(imagesIn(text(file))).toHaveLength(lines.length - exempt.length)
  },
)

test('.github/workflows names actions by commit only', () => {
  const actions = globSync('.github/workflows/*.yml', { cwd: root }).flatMap(
    (file) => text(file).match(/uses: .*/g) ?? [],
  )
  expect(actions.filter((action) => !/^uses: [\w/-]+@[0-9a-f]{40} # v[\d.]+$/.test(action))).toEqual([])
  expect(actions).not.toEqual([])
})

test('guides install portico and portico-client with --ignore-scripts', () => {
  const pages = ['README.md', ...globSync('{docs,examples,src}/**/*.{md,ts}', { cwd: root })]
  const commands = pages.flatMap((page) => text(page).match(/npm (?:install|i) [^`\n]*portico[^`\n]*/g) ?? [])
  expect(commands.length).toBeGreaterThan(5)
  expect(commands.filter((command) => !command.includes(' --ignore-scripts '))).toEqual([])
})
