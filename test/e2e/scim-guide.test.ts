import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ScimWorld, startScimWorld } from './scim-world.ts'

let world: ScimWorld
beforeAll(async () => {
  world = await startScimWorld()
})
afterAll(() => world?.portico.stop())

test('the commands of docs/guides/scim.md create, find and suspend a person', async () => {
  const guide = readFileSync(new URL('../../docs/guides/scim.md', import.meta.url), 'utf8')
  const script = /```sh\n([^`]+)```/.exec(guide)?.[1] ?? expect.fail('no script')
  const env = { ...process.env, PORTICO: world.portico.url, KEY: world.entra.secret }
  const { stdout } = await promisify(execFile)('bash', ['-ec', script], { env })
  const { body } = await world.entra.call('GET', '/Users?filter=externalId%20eq%20%224711%22')
  const [person] = body.Resources
  expect(person).toMatchObject({ userName: 'ann@example.com', active: false })
  expect(stdout.split(person.id).length).toBeGreaterThan(3)
  expect(stdout).toContain('"active":true')
})
