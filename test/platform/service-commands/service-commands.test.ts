import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock as clock, systemIds as ids } from '../../../src/platform/runtime/index.ts'
import type { SentCommand } from '../../../src/platform/service-commands/index.ts'
import {
  type CommandKey,
  expiredCommandCleanup,
  recordPlace,
  ServiceCommands,
} from '../../../src/platform/service-commands/index.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('commands of services on $name', ({ database }) => {
  const commands = new ServiceCommands({ database, clock })
  const newKey = (): CommandKey => ({
    account: ids.next<'account'>(),
    workspace: null,
    operation: 'labels.create',
    requestId: ids.next(),
    bodyHash: 'a',
  })
  const sent = (key: CommandKey, attempt = 1): SentCommand => ({
    key,
    attempt,
    audit: {
      operationId: key.operation,
      accountId: key.account,
      apiKeyId: null,
      portal: 'CONSUMER',
      at: clock.now(),
      requestId: key.requestId,
      clientIp: '203.0.113.7',
    },
    subject: { workspaceId: null, targetId: null },
  })
  const makeOlder = async (key: CommandKey, age: string) => {
    for (const table of ['service_commands', 'command_places'])
      await sql`UPDATE ${sql.table(table)} SET created_at = created_at - ${age}::interval WHERE request_id = ${key.requestId}`.execute(
        database,
      )
  }
  const refusedWith = (code: string) => expect.objectContaining({ code })

  test('a reply is kept for 24 hours', async () => {
    const key = newKey()
    expect(await commands.claim(key, 60_000)).toEqual({ attempt: 1 })
    await commands.succeed(sent(key), '{"a":1}')
    await makeOlder(key, '23 hours 59 minutes')
    expect(await commands.claim(key, 60_000)).toEqual({ reply: '{"a":1}' })
    await makeOlder(key, '2 minutes')
    expect(await commands.claim({ ...key, bodyHash: 'b' }, 60_000)).toEqual({ attempt: 1 })
  })

  test('a claim without outcome allows another attempt after its time, with the same body only', async () => {
    const key = newKey()
    await commands.claim(key, 60_000)
    await expect(commands.claim(key, 60_000)).rejects.toEqual(refusedWith('REQUEST.IN_PROGRESS'))
    await sql`UPDATE service_commands SET claimed_until = now() - interval '1 second'`.execute(database)
    await expect(commands.claim({ ...key, bodyHash: 'b' }, 0)).rejects.toEqual(refusedWith('REQUEST.ID_REUSED'))
    expect(await commands.claim(key, 60_000)).toEqual({ attempt: 2 })
  })

  test('an attempt that lost its claim neither ends nor answers the next one', async () => {
    const key = newKey()
    await commands.claim(key, 0)
    expect(await commands.claim(key, 60_000)).toEqual({ attempt: 2 })
    await commands.refuse(sent(key), 'LABEL.TAKEN')
    await commands.succeed(sent(key), '{"attempt":1}')
    await expect(commands.claim(key, 60_000)).rejects.toEqual(refusedWith('REQUEST.IN_PROGRESS'))
    await commands.succeed(sent(key, 2), '{"attempt":2}')
    expect(await commands.claim(key, 60_000)).toEqual({ reply: '{"attempt":2}' })
  })

  test('the place of a command is that of its first request for 24 hours, also in parallel', async () => {
    const key = newKey()
    const record = (place: string, at = key) => recordPlace(database, at, place, clock.now())
    const places = await Promise.all(['a', 'b', 'a', 'b', 'b'].map((place) => record(place)))
    expect(new Set(places).size).toBe(1)
    const [first = ''] = places
    await makeOlder(key, '23 hours 59 minutes')
    expect(await record('c')).toBe(first)
    await makeOlder(key, '2 minutes')
    expect([await record('c'), await record(first)]).toEqual(['c', 'c'])
    expect(await record('d', { ...key, operation: 'labels.void' })).toBe('d')
    expect(await record('d', { ...key, workspace: ids.next<'workspace'>() })).toBe('d')
  })

  test('serviceCommands.deleteExpired: deletes a command older than a day, not a younger one', async () => {
    const [young, old] = [newKey(), newKey()]
    for (const key of [young, old]) {
      await commands.claim(key, 0)
      await recordPlace(database, key, 'a', clock.now())
    }
    await makeOlder(old, '25 hours')
    await makeOlder(young, '23 hours')
    const controller = new AbortController()
    const drop = () => expect.fail()
    await expiredCommandCleanup({ database, clock }).work(
      {},
      { jobId: ids.next(), attempt: 1, signal: controller.signal, drop },
    )
    const { rows } = await sql<{ id: string }>`SELECT request_id AS id FROM service_commands`.execute(database)
    const left = rows.map(({ id }) => id)
    expect([left.includes(young.requestId), left.includes(old.requestId)]).toEqual([true, false])
    const places = await sql<{ id: string }>`SELECT request_id AS id FROM command_places`.execute(database)
    const kept = places.rows.map(({ id }) => id)
    expect([kept.includes(young.requestId), kept.includes(old.requestId)]).toEqual([true, false])
  })
})
