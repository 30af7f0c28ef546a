import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openRedis } from '../../src/platform/redis/index.ts'
import { createLogger } from '../../src/platform/telemetry/index.ts'
import { startRedis } from '../harness/redis.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-logger-'))
afterAll(() => rmSync(folder, { recursive: true }))

const logged = async (name: string, error: unknown): Promise<string> => {
  const file = join(folder, name)
  createLogger('info', file).warn({ err: error }, 'something failed')
  await expect.poll(() => readFileSync(file, 'utf8')).toContain('something failed')
  return readFileSync(file, 'utf8')
}

test('a line tells type, message, stack and code of an error and of its cause, and nothing that hangs on them', async () => {
  const cause = Object.assign(new Error('the bytes were odd'), { data: 'hidden-1', rawPacket: Buffer.from('hidden') })
  const error = Object.assign(new TypeError('no', { cause }), { code: 'E_NO', command: { args: ['hidden-2'] } })
  const line = await logged('plain', error)
  expect(JSON.parse(line).err).toEqual({
    type: 'TypeError',
    message: 'no: the bytes were odd',
    stack: expect.stringContaining('caused by: Error: the bytes were odd'),
    code: 'E_NO',
  })
})

const server = await startRedis(['--requirepass', 'right'])
afterAll(() => server?.stop())

test.skipIf(!server)('the password that Redis refuses is not in the log', async () => {
  const told: Error[] = []
  const opened = openRedis({
    url: (server?.url ?? '').replace('redis://', 'redis://:planted-password@'),
    cluster: false,
    connectTimeoutMs: 1_000,
    commandTimeoutMs: 300,
    onError: (error) => told.push(error),
    onReady: () => undefined,
  })
  await expect(opened).rejects.toThrow('Redis does not answer')
  expect(told.map(({ message }) => message).join()).toContain('WRONGPASS')
  expect(await logged('redis', told[0])).not.toContain('planted-password')
})
