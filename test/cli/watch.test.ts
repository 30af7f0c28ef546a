import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchConfiguration } from '../../src/cli/signals.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-watch-'))
})
afterAll(() => rm(folder, { recursive: true }))

function fail(error: unknown): void {
  throw error
}

test('watchConfiguration: reports a file that cannot be watched; SIGHUP still reloads until it is closed', async () => {
  const errors: unknown[] = []
  let count = 0
  const reload = async () => void count++
  const reloads = watchConfiguration('/nowhere/portico.yaml', reload, (error) => errors.push(error))
  expect(errors).toMatchObject([{ code: 'ENOENT' }])
  process.emit('SIGHUP', 'SIGHUP')
  expect(count).toBe(1)
  reloads.close()
  process.emit('SIGHUP', 'SIGHUP')
  expect(count).toBe(1)
})

test('watchConfiguration: ignores other files in the folder, except the link that Kubernetes swaps', async () => {
  let count = 0
  const reload = async () => void count++
  const reloads = watchConfiguration(join(folder, 'portico.yaml'), reload, fail)
  await writeFile(join(folder, 'another.yaml'), '')
  await pause(400)
  expect(count).toBe(0)
  await symlink('..2026_11_23', join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  await expect.poll(() => count).toBe(1)
  reloads.close()
})

test('watchConfiguration: reloads when the file is replaced, until it is closed', async () => {
  let count = 0
  const reload = async () => void count++
  const file = join(folder, 'swapped.yaml')
  await writeFile(file, '1')
  const reloads = watchConfiguration(file, reload, fail)
  await writeFile(`${file}.new`, '2')
  await rename(`${file}.new`, file)
  await expect.poll(() => count).toBe(1)
  reloads.close()
  await writeFile(file, '3')
  await pause(400)
  expect(count).toBe(1)
})
