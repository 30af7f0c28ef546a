import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { isRecord } from '../../src/kernel/index.ts'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { root } from '../harness/settings.ts'

const postgres = await seededPostgres()
const redisPort = await freePort()
const hasRedis = await startRedis()
await hasRedis?.stop()
let redis: TestRedis | undefined
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
})

async function start(command: string, variables: NodeJS.ProcessEnv) {
  const [port, operationsPort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, ['bin/portico.js', command], {
    cwd: root,
    env: { ...process.env, PORT: `${port}`, OPS_PORT: `${operationsPort}`, ...variables, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  const linesAbout = (dependency: string, msg: string): unknown[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): unknown => JSON.parse(line))
      .filter((line) => isRecord(line) && line.dependency === dependency && line.msg === msg)
      .map((line) => isRecord(line) && line.reason)
  return {
    child,
    ended: once(child, 'exit'),
    url: `http://127.0.0.1:${port}`,
    ready: () =>
      fetch(`http://127.0.0.1:${operationsPort}/health/ready`).then(
        (each) => each.json(),
        () => null,
      ),
    output: () => text,
    reasons: (dependency: string) => linesAbout(dependency, 'dependency failed'),
    recoveries: (dependency: string) => linesAbout(dependency, 'dependency works again'),
  }
}

async function setPassword(from: string, to: string): Promise<void> {
  const commands = [
    `AUTH ${from}`,
    `CONFIG SET requirepass ${to}`,
    'CLIENT KILL TYPE normal',
    'CLIENT KILL TYPE pubsub',
  ]
  await redis?.query(commands.join('\r\n'))
}

describe('a start while the stores are away', { ...needsPostgres(postgres), ...needsRedis(hasRedis) }, () => {
  const place = new URL(postgres?.url ?? 'postgres://localhost')
  const refused = `cannot connect to PostgreSQL at ${place.username}@${place.host}${place.pathname} (DATABASE_URL): connect ECONNREFUSED ${place.host}`
  const variables = { DATABASE_URL: place.href, REDIS_URL: `redis://:right@127.0.0.1:${redisPort}` }

  test('serve waits for PostgreSQL, then for Redis, with one line per reason, and names WRONGPASS later', async () => {
    await postgres?.crash()
    const gateway = await start('serve', variables)
    await expect.poll(() => gateway.reasons('database')).toEqual([refused])
    await postgres?.resume()
    await expect
      .poll(() => gateway.reasons('redis'))
      .toEqual([
        `cannot connect to Redis at 127.0.0.1:${redisPort} (REDIS_URL): connect ECONNREFUSED 127.0.0.1:${redisPort}`,
      ])
    expect(gateway.child.exitCode).toBeNull()
    redis = await startRedis(['--requirepass', 'right'], redisPort)
    await expect.poll(gateway.ready).toMatchObject({ status: 'ready', checks: { cache: 'ok' } })
    expect(gateway.output()).not.toMatch(/right@|"stack"/)

    await setPassword('right', 'other')
    const wrongPassword = expect.stringMatching(/^WRONGPASS /)
    await expect.poll(() => gateway.reasons('redis')).toContainEqual(wrongPassword)
    await expect
      .poll(gateway.ready)
      .toMatchObject({ checks: { cache: 'failed' }, reasons: { cache: expect.stringMatching(/^Redis: WRONGPASS /) } })
    const path = '/web/v1/consumer/auth/login/initiate'
    const statuses = await Promise.all(
      Array.from({ length: 5 }, () => fetch(gateway.url + path, { method: 'POST' }).then(({ status }) => status)),
    )
    expect(statuses).toEqual(statuses.map(() => 503))
    await expect.poll(() => gateway.output().match(/"msg":"request failed"/g)?.length).toBe(5)
    expect(gateway.output()).toMatch(
      /"code":"SYSTEM.UNAVAILABLE".*"reason":"Redis: WRONGPASS [^"]*","msg":"request failed"/,
    )
    expect(gateway.output()).not.toContain('"stack"')
    expect(gateway.reasons('redis').filter((reason) => /^WRONGPASS/.test(String(reason)))).toHaveLength(1)

    await setPassword('other', 'right')
    await expect
      .poll(async () => [(await gateway.ready())?.status, gateway.recoveries('redis').length])
      .toEqual(['ready', 1])
    gateway.child.kill('SIGTERM')
    expect(await gateway.ended).toEqual([0, null])
  })

  test('migrate waits for PostgreSQL, and SIGTERM ends a waiting serve with exit code 0', async () => {
    await postgres?.crash()
    const migrate = await start('migrate', variables)
    await expect.poll(migrate.output).toBe(`portico: waiting: ${refused}\n`)
    const gateway = await start('serve', variables)
    await expect.poll(() => gateway.reasons('database')).toEqual([refused])
    gateway.child.kill('SIGTERM')
    expect(await gateway.ended).toEqual([0, null])
    await postgres?.resume()
    expect(await migrate.ended).toEqual([0, null])
    expect(migrate.output()).toMatch(/the schema is up to date\n$/)
  })

  test.each([
    [
      'DATABASE_URL',
      { ...variables, DATABASE_URL: new URL('/missing', place).href },
      'database "missing" does not exist',
    ],
    ['REDIS_URL', { ...variables, REDIS_URL: `redis://:planted@127.0.0.1:${redisPort}` }, 'WRONGPASS'],
  ])('a wrong %s ends serve with exit code 1 and names it', async (name, wrong, reason) => {
    const gateway = await start('serve', wrong)
    expect(await gateway.ended).toEqual([1, null])
    const line = gateway
      .output()
      .split('\n')
      .find((each) => each.startsWith('portico: cannot connect to'))
    expect(line).toContain(`(${name}): `)
    expect(line).toContain(reason)
    expect(gateway.output()).not.toContain('planted')
  })
})
