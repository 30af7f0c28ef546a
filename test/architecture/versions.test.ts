import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { thisRelease } from '../../src/database/migrator/release.ts'

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))
}
const { packages } = z
  .object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) })
  .parse(read('package-lock.json'))

/** Earlier versions have known vulnerabilities. */
const floors = {
  'body-parser': '2.3.0',
  'path-to-regexp': '8.4.0',
  qs: '6.16.0',
  'http-proxy-middleware': '4.1.1',
  httpxy: '0.5.5',
  undici: '7.24.0',
  'express-rate-limit': '8.3.0',
  nodemailer: '9.1.0',
}

test.each(Object.entries(floors))('no %s below %s is installed, transitively either', (name, floor) => {
  const versions = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`))
  expect(versions).not.toEqual([])
  const older = versions.filter(
    ([, { version = '0' }]) => version.localeCompare(floor, 'en', { numeric: true, sensitivity: 'base' }) < 0,
  )
  expect(older).toEqual([])
})

test('the release of the migrator is the version of the package, and compatible with the release before it', () => {
  const { version } = z.object({ version: z.string() }).parse(read('package.json'))
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  const releases = [...changelog.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, each]) => each)
  const previous = releases[releases.indexOf(version) + 1] ?? version
  expect(thisRelease).toEqual({ version, compatibleWith: previous })
})

test('every package that we ask for is asked for in one version: npm under an old Node would take an older one', () => {
  const Wanted = z.record(z.string(), z.string())
  const { dependencies, devDependencies } = z
    .object({ dependencies: Wanted, devDependencies: Wanted })
    .parse(read('package.json'))
  const tools = z.object({ dependencies: Wanted }).parse(read('tools/package.json')).dependencies
  const loose = Object.entries({ ...dependencies, ...devDependencies, ...tools }).filter(
    ([, version]) => !/^(npm:@?[\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  )
  // The project's own package, which names one version of Node (supply-chain.test.ts).
  expect(loose).toEqual([['portico-node', 'file:scripts/node']])
})
