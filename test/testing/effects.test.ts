import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Domain, domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { id } from '../../src/contract/fields.ts'
import { member, money } from '../../src/contract/policies.ts'
import type { Database } from '../../src/database/index.ts'
import { type AnyHandler, hours, notFound, operation, Refusal } from '../../src/kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../src/platform/audit/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Place, type Samples, startPortico, type TestPortico } from '../../src/testing/index.ts'
import { type Failure, failuresOf } from './failures.ts'

const Card = z.object({ bizId: id, holder: z.string() })
type Card = z.output<typeof Card>

interface Mistakes {
  /** Writes a row outside of the transaction of `once`. */
  writesOutside?: true
  /** Writes equal rows outside of it, into a table without a key. */
  logsOutside?: true
  /** The audit entry names another workspace. */
  auditsElsewhere?: true
  /** The list has no condition on the workspace. */
  listsAll?: true
  /** The reset deletes the rows of every workspace. */
  resetsAll?: true
  /** No command creates what the list shows. */
  listsNothing?: true
  writesNoEntry?: true
  leavesRows?: true
  /** Refuses an unknown id with a code that the operation does not declare. */
  refusesOtherwise?: true
}

function operationsOf(name: string, { writesNoEntry }: Mistakes) {
  return {
    [`${name}Issue`]: operation({
      id: `${name}.issue`,
      method: 'POST',
      path: `/${name}`,
      chains: ['consumer'],
      summary: 'Issue a card',
      policy: { ...(writesNoEntry ? member : money), workspace: 'required', permission: 'transfer:create' },
      body: z.strictObject({ holder: z.string().min(1).max(50) }),
      reply: Card,
      refuses: [],
    }),
    [`${name}Read`]: operation({
      id: `${name}.read`,
      method: 'GET',
      path: `/${name}/{card_id}`,
      chains: ['consumer'],
      summary: 'Read a card',
      policy: { ...member, workspace: 'required', permission: 'wallet:read' },
      body: 'none',
      reply: Card,
      refuses: ['RESOURCE.NOT_FOUND'],
    }),
    [`${name}List`]: operation({
      id: `${name}.list`,
      method: 'GET',
      path: `/${name}`,
      chains: ['consumer'],
      summary: 'List cards',
      policy: { ...member, workspace: 'required', permission: 'wallet:read' },
      body: 'none',
      reply: z.array(z.object({ holder: z.string() })),
      refuses: [],
    }),
  }
}

/** Keeps each promise except for the mistakes. */
function cards(name: string, mistakes: Mistakes = {}): Domain {
  const table = sql.table(name)
  const log = sql.table(`${name}_log`)
  const insert = (store: Database, workspaceId: string, { bizId, holder }: Card) =>
    sql`INSERT INTO ${table} VALUES (${workspaceId}, ${bizId}, ${holder})`.execute(store)
  return domain({
    name,
    summary: 'Cards.',
    operations: operationsOf(name, mistakes),
    migrations: [
      {
        name: '001-cards',
        up: async (tx) => {
          await sql`CREATE TABLE ${table} (workspace_biz_id uuid, biz_id uuid PRIMARY KEY, holder text)`.execute(tx)
          await sql`CREATE TABLE ${log} (workspace_biz_id uuid, holder text)`.execute(tx)
        },
      },
    ],
    needs: ['database', 'ids', 'once'],
    create: ({ database, ids, once }) => {
      const issue: AnyHandler = async (request) => {
        const { body, caller, idempotency, workspace } = request
        if (!caller || !workspace) throw new Error('the policy requires them')
        const { holder } = z.object({ holder: z.string() }).parse(body)
        if (mistakes.writesOutside) await insert(database, workspace.id, { bizId: ids.next(), holder })
        if (mistakes.logsOutside) await sql`INSERT INTO ${log} VALUES (${workspace.id}, ${holder})`.execute(database)
        const card = { bizId: ids.next(), holder }
        if (mistakes.writesNoEntry) {
          await insert(database, workspace.id, card)
          return card
        }
        if (!idempotency) throw new Error('the policy requires it')
        return once({ ...request, caller, idempotency, workspace }, async (tx) => {
          await insert(tx, workspace.id, card)
          const entry = { workspaceId: developmentIds.workspace, targetId: card.bizId }
          if (mistakes.auditsElsewhere) await recordSuccess(tx, auditContextOf({ ...request, caller }), entry)
          return card
        })
      }
      const read: AnyHandler = async ({ params, workspace }) => {
        const { rows } = await sql<Card>`SELECT biz_id, holder FROM ${table}
          WHERE workspace_biz_id = ${workspace?.id} AND biz_id = ${params.card_id}`.execute(database)
        if (rows[0]) return rows[0]
        throw mistakes.refusesOtherwise ? new Refusal('STATE.CONFLICT') : notFound()
      }
      const list: AnyHandler = async ({ workspace }) => {
        const isListed = mistakes.listsAll ? sql`true` : sql`workspace_biz_id = ${workspace?.id}`
        const { rows } = await sql<Card>`SELECT holder FROM ${table} WHERE ${isListed}`.execute(database)
        return mistakes.listsNothing ? [] : rows
      }
      return {
        handlers: new Map([
          [`${name}.issue`, issue],
          [`${name}.read`, read],
          [`${name}.list`, list],
        ]),
        ...(!mistakes.leavesRows && {
          onSandboxReset: async (tx, { workspaceId }) => {
            const isReset = mistakes.resetsAll ? sql`true` : sql`workspace_biz_id = ${workspaceId}`
            for (const each of [table, log]) await sql`DELETE FROM ${each} WHERE ${isReset}`.execute(tx)
          },
        }),
      }
    },
  })
}

function samplesOf({ name, operations }: Domain): Samples {
  const issued = async (place: Place): Promise<string> => {
    const declared = operations[`${name}Issue`]
    if (!declared) throw new Error(`${name} issues no cards`)
    return (await place.run({ ...declared, reply: Card }, { body: { holder: 'Ada' } })).bizId
  }
  return {
    [`${name}.issue`]: () => ({ body: { holder: 'Ada' } }),
    [`${name}.read`]: async (place) => ({ params: { card_id: await issued(place) } }),
  }
}

describe('promises about effects', () => {
  const domains = [
    cards('careful'),
    cards('outside', { writesOutside: true }),
    cards('silent', { writesNoEntry: true }),
    cards('littering', { leavesRows: true }),
    cards('conflicting', { refusesOtherwise: true }),
    cards('logging', { logsOutside: true }),
    cards('misfiled', { auditsElsewhere: true }),
    cards('leaking', { listsAll: true }),
    cards('sweeping', { resetsAll: true }),
    cards('unlisted', { listsNothing: true }),
    cards('constant', { listsNothing: true }),
  ]
  let failures: Failure[] = []
  beforeAll(async () => {
    failures = await failuresOf(domains, {
      samples: Object.assign({}, ...domains.map(samplesOf)),
      sharedLists: ['constant.list'],
    })
  })
  const of = (name: string): Failure[] => failures.filter((failure) => failure.name.startsWith(name))

  test('a domain that keeps them has no failure', () => {
    expect([...of('careful'), ...of('constant')]).toEqual([])
  })

  test.each([
    [
      'outside',
      'outside.issue on consumer: takes effect once per X-Request-Id; another input is 422 REQUEST.ID_REUSED',
    ],
    ['silent', 'silent.issue on consumer: writes an audit entry'],
    ['littering', 'littering onSandboxReset: removes the rows of the workspace, and no others'],
    ['sweeping', 'sweeping onSandboxReset: removes the rows of the workspace, and no others'],
    [
      'logging',
      'logging.issue on consumer: takes effect once per X-Request-Id; another input is 422 REQUEST.ID_REUSED',
    ],
    ['misfiled', 'misfiled.issue on consumer: writes an audit entry'],
    ['leaking', 'leaking.list on consumer: contains nothing of another workspace'],
    ['unlisted', 'unlisted.list on consumer: contains nothing of another workspace'],
    ['conflicting', 'conflicting.read: refuses with declared codes only'],
  ])('%s fails: %s', (name, test) => {
    expect(of(name).map((failure) => failure.name)).toContain(test)
  })

  test('a failure names what to correct', () => {
    const messages = failures.map(({ message }) => message).join('\n')
    expect(messages).toContain('rows, balances and audit entries of a repeated request')
    expect(messages).toContain('call recordSuccess in its transaction')
    expect(messages).toContain('delete the rows of the workspace in onSandboxReset of littering')
    expect(messages).toContain("list the codes in `refuses` of 'conflicting.read'")
    expect(messages).toContain('onSandboxReset of sweeping must change no row of another workspace')
    expect(messages).toContain('pass the workspace of the request to recordSuccess in misfiled.issue')
    expect(messages).toContain("no sample creates a record that 'unlisted.list' lists")
    // The other promises of each domain are kept.
    expect(of('silent').map(({ name }) => name)).toEqual(['silent.issue on consumer: writes an audit entry'])
    for (const name of ['littering', 'sweeping', 'logging', 'misfiled', 'leaking', 'unlisted'])
      expect(of(name)).toHaveLength(1)
  })
})

describe('startPortico', () => {
  const runs: number[] = []
  const reminders = domain({
    name: 'reminders',
    summary: 'Reminders.',
    operations: {},
    needs: ['clock'],
    create: ({ clock }) => ({
      handlers: {},
      jobs: [
        {
          name: 'reminders.send',
          attempts: 1,
          everyMs: hours(24),
          initialDelayMs: hours(24),
          work: async (payload) => {
            if (JSON.stringify(payload) !== '{}') throw new Error(`unexpected ${JSON.stringify(payload)}`)
            runs.push(clock.now())
          },
        },
      ],
    }),
  })
  let portico: TestPortico
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, reminders] })
  })
  afterAll(() => portico?.stop())

  test('runJob: one attempt now, at the time of the clock; its error, or an unknown name, rejects', async () => {
    await portico.runJob('reminders.send')
    expect(runs).toHaveLength(1)
    await expect(portico.runJob('reminders.send', { to: 'all' })).rejects.toThrow('unexpected {"to":"all"}')
    await expect(portico.runJob('reminders.sent')).rejects.toThrow('no job is called reminders.sent')
  })

  test('clock: recurring jobs become due, sessions expire, and a sign-in works', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const before = portico.clock.now()
    const done = runs.length
    portico.clock.advance(hours(25))
    expect(portico.clock.now() - before).toBeGreaterThanOrEqual(hours(25))
    await expect.poll(() => runs.length).toBeGreaterThan(done)
    expect(runs.at(-1)).toBeGreaterThanOrEqual(before + hours(25))
    await expect(owner.listWallets({ workspaceId: developmentIds.workspace })).rejects.toThrow()
    const again = await portico.signInConsumer('owner@demo.test')
    expect(await again.listWallets({ workspaceId: developmentIds.workspace })).toHaveLength(3)
    expect(() => portico.clock.advance(-1)).toThrow(RangeError)
  })

  test('signInPerson: one person on both portals, whom separation of duties refuses', async () => {
    const { consumer, operator } = await portico.signInPerson('checker@demo.test')
    expect((await consumer.readProfile()).accountEmail).toBe('checker@demo.test')
    expect((await operator.readProfile()).accountEmail).toBe('checker@demo.test')
    const [membership] = await consumer.listMyWorkspaces()
    const workspaceId = membership?.workspaceBizId ?? ''
    const [wallet] = await consumer.listWallets({ workspaceId })
    const body = { walletBizId: wallet?.bizId ?? '', channelCode: 'BANK_USD', amount: '10.00' }
    const { bizId } = await consumer.createRecharge({ workspaceId, body })
    const decided = operator.rejectRecharge({ params: { recharge_id: bizId }, body: { reason: 'no such payment' } })
    await expect(decided).rejects.toMatchObject({ code: 'ACCESS.PERMISSION_DENIED' })
    const again = await portico.signInPerson('checker@demo.test')
    expect((await again.consumer.readProfile()).accountEmail).toBe('checker@demo.test')
  })
})
