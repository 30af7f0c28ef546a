import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { openRedis } from '../../../src/platform/redis/index.ts'
import { createLogger } from '../../../src/platform/telemetry/index.ts'
import { LogSink } from '../../../src/platform/telemetry/log-sink.ts'
import { needs, needsRedis } from '../../harness/needs.ts'
import { startRedis } from '../../harness/redis.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-logger-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function logged(name: string, error: unknown): Promise<string> {
  const file = join(folder, name)
  createLogger('info', file).warn({ err: error }, 'something failed')
  await expect.poll(() => readFileSync(file, 'utf8')).toContain('something failed')
  return readFileSync(file, 'utf8')
}

test('a line has type, message, stack and code of an error with its cause, and no other property', async () => {
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

const telemetry = JSON.stringify(new URL('../../../src/platform/telemetry/index.ts', import.meta.url).href)

function readNow(descriptor: number): string {
  const bytes = Buffer.alloc(65_536)
  try {
    return bytes.toString('utf8', 0, readSync(descriptor, bytes))
  } catch {
    return ''
  }
}

test(
  'a full disk neither stops the process nor delays its exit',
  needs(existsSync('/dev/full'), 'this system has no /dev/full'),
  () => {
    const program = `
    import { createLogger } from ${telemetry}
    const logger = createLogger('info')
    logger.info('first')
    setTimeout(() => logger.info('second'), 300)
    setTimeout(() => process.exit(7), 600)`
    const full = openSync('/dev/full', 'w')
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', full, 'pipe'],
      timeout: 60_000,
    })
    closeSync(full)
    expect([ended.status, ended.signal, String(ended.stderr)]).toEqual([7, null, ''])
  },
)

function settled() {
  return expect.poll(() => process.getActiveResourcesInfo()).not.toContain('FSReqCallback')
}

/** Returns what the next reader of the pipe finds. */
async function withoutReader(log: (logger: ReturnType<typeof createLogger>) => void, until: string) {
  const pipe = join(folder, randomUUID())
  execFileSync('mkfifo', [pipe])
  const reader = () => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const first = reader()
  const logger = createLogger('info', pipe)
  logger.info('taken')
  await expect.poll(() => readNow(first)).toContain('taken')
  closeSync(first)
  log(logger)
  await settled()
  const second = reader()
  logger.info('taken again')
  let text = ''
  while (!text.includes(until) || !text.endsWith('\n')) {
    const read = readNow(second)
    text += read
    if (read === '') await pause(1)
  }
  closeSync(second)
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const pipes = needs(process.platform !== 'win32', 'Windows has no named pipes')

test('lines without a reader are kept for the next reader, in order', pipes, async () => {
  const lines = await withoutReader((logger) => {
    for (const msg of ['one', 'two']) logger.info(msg)
  }, 'taken again')
  expect(lines).toMatchObject([{ msg: 'one' }, { msg: 'two' }, { msg: 'taken again' }])
})

test('at most 16 MB are kept without a reader; the number of lost lines is logged', pipes, async () => {
  const filling = 'x'.repeat(1_048_576)
  const lines = await withoutReader((logger) => {
    for (let line = 0; line < 20; line += 1) logger.info({ line, filling })
  }, 'lines lost')
  const received = lines.filter((line) => 'filling' in line).map(({ line }) => line)
  expect(received).toEqual(Array.from({ length: 15 }, (_, line) => line))
  const report = { level: 'error', lines: 5, msg: 'log lines lost: destination unavailable' }
  // The loss is logged before or after the next line.
  expect(lines.filter(({ level }) => level === 'error')).toMatchObject([report])
})

test('end writes the buffer synchronously, also after a time without a reader', pipes, async () => {
  const pipe = join(folder, randomUUID())
  execFileSync('mkfifo', [pipe])
  const reader = () => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const first = reader()
  const sink = new LogSink(pipe, () => undefined)
  sink.write('taken\n')
  await expect.poll(() => readNow(first)).toBe('taken\n')
  closeSync(first)
  sink.write('refused\n')
  await settled()
  const second = reader()
  sink.write('taken again\n')
  let text = ''
  await expect.poll(() => (text += readNow(second))).toBe('refused\ntaken again\n')
  sink.write('current\n')
  sink.end('last\n')
  expect(readNow(second)).toBe('current\nlast\n')
  closeSync(second)
})

test.each(['', 'process.exit(0)'])('a line logged at exit (%j) is written, also when all cores are busy', (end) => {
  const program = `
      import { createLogger } from ${telemetry}
      createLogger('info').info('last')
      ${end}`
  const others = Array.from({ length: 2 * availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { timeout: 60_000 }),
  )
  try {
    for (let round = 0; round < 3; round += 1) {
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 60_000 })
      expect(String(stdout)).toContain('"last"')
    }
  } finally {
    for (const other of others) other.kill('SIGKILL')
  }
})

test('createLogger: all loggers of a process share one exit listener', () => {
  createLogger('silent')
  const before = process.listenerCount('exit')
  for (let count = 0; count < 20; count += 1) createLogger('silent')
  expect(process.listenerCount('exit')).toBe(before)
})

test('a line has the system time, also after the clock was changed', () => {
  const program = `
    import { createLogger } from ${telemetry}
    const logger = createLogger('info')
    const now = Date.now
    for (const shift of [3_600_000, -3_600_000]) {
      Date.now = () => now() + shift
      logger.info({ clock: Date.now() })
    }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 60_000 })
  const lines = String(stdout)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toHaveLength(2)
  for (const { time, clock } of lines) expect(Math.abs(Date.parse(time) - clock)).toBeLessThan(1_000)
})

const servers = {
  'is refused': [await startRedis(['--requirepass', 'right']), 'WRONGPASS'],
  'belongs to a command that Redis does not know': [
    await startRedis(['--rename-command', 'AUTH', 'NO-AUTH', '--rename-command', 'HELLO', 'NO-HELLO']),
    'unknown command',
  ],
} as const
afterAll(async () => {
  for (const [server] of Object.values(servers)) await server?.stop()
})

test.each(Object.entries(servers))(
  'a Redis password that %s is not logged',
  needsRedis(servers['is refused'][0]),
  async (_which, [server, reason]) => {
    const errors: Error[] = []
    const opened = openRedis({
      url: (server?.url ?? '').replace('redis://', 'redis://:planted-password@'),
      cluster: false,
      connectTimeoutMs: 10_000,
      commandTimeoutMs: 10_000,
      onError: (error) => errors.push(error),
      onReady: () => undefined,
      onEvicting: () => undefined,
    })
    const failed: unknown = await opened.catch((error) => error)
    expect(errors.map(({ message }) => message).join()).toContain(reason)
    for (const error of [errors[0], failed]) {
      const line = await logged(`redis-${reason}-${error === failed}`, error)
      expect(line).toContain(reason)
      expect(line).not.toContain('planted-password')
    }
  },
)

test(
  'the value of an unknown Redis command is neither logged nor inspected',
  needsRedis(servers['is refused'][0]),
  async () => {
    const redis = await openRedis({
      url: servers['belongs to a command that Redis does not know'][0]?.url ?? '',
      cluster: false,
      connectTimeoutMs: 10_000,
      commandTimeoutMs: 10_000,
      onError: () => undefined,
      onReady: () => undefined,
      onEvicting: () => undefined,
    })
    const failed: unknown = await redis.command('KEEP', 'key', 'planted-value').catch((error) => error)
    await redis.close()
    const line = await logged('redis-value', failed)
    expect(line).toContain('unknown command')
    expect(line).not.toContain('planted-value')
    expect(inspect(failed)).toContain('unknown command')
    expect(inspect(failed)).not.toContain('planted-value')
  },
)
