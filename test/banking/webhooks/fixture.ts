import type { FailedAttempt } from '../../../src/banking/webhooks/deliver.ts'
import { createWebhooks, type Webhooks } from '../../../src/banking/webhooks/index.ts'
import { bankingCatalogue } from '../../../src/contract/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { type AccountId, bizId, type Permission, Refusal, toDate } from '../../../src/kernel/index.ts'
import { createSecretBox } from '../../../src/platform/crypto/index.ts'
import type { StoredEvent } from '../../../src/platform/events/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import type { WebhookResponse, WebhookSender } from '../../../src/platform/webhooks/index.ts'
import { alwaysOpen, callerOf, transactionOf, type World, words } from '../world.ts'

export interface Sent {
  url: string
  id: string
  type: string
  secrets: number
}

export interface TestWebhooks extends Webhooks {
  sent: Sent[]
  outcomes: string[]
  failed: FailedAttempt[]
  mails: string[]
  /** Whether the session of callers was started with a passkey. */
  byPasskey: boolean
  /** What `mfa.required` protects. */
  ofPasskey: Permission[]
  /** Tests change it. */
  respond: (message: Sent) => Partial<WebhookResponse> | Promise<Partial<WebhookResponse>>
  /** Records an event, as the sequencer does. */
  record(workspace: string, type?: string): Promise<string>
  /** Runs the due jobs of deliveries until none is left. `maxJobs` stops earlier. */
  runJobs(maxJobs?: number): Promise<void>
  /** Adds jobs for deliveries whose time has come, and runs them. */
  sweep(): Promise<void>
}

/** Of all worlds. */
let position = 0

const ok: WebhookResponse = { status: 200, body: 'ok', retryAfter: null, failure: null, durationMs: 5 }

/** The facts about an attempt, which a job gets from its runner. */
export const facts = { jobId: '', attempt: 1, signal: new AbortController().signal, drop: () => undefined }

export function createTestWebhooks(world: World): TestWebhooks {
  const { database, clock, members } = world
  const transaction = transactionOf(database)
  const state = {
    sent: [] as Sent[],
    outcomes: [] as string[],
    failed: [] as FailedAttempt[],
    mails: [] as string[],
    byPasskey: false,
    ofPasskey: [] as Permission[],
    respond: (_message: Sent): Partial<WebhookResponse> | Promise<Partial<WebhookResponse>> => ({}),
  }
  const sender: WebhookSender = {
    send: async ({ url, id, body, secrets }, signal) => {
      const message = { url, id, type: JSON.parse(body).type, secrets: secrets.length }
      state.sent.push(message)
      const response = { ...ok, ...(await state.respond(message)) }
      signal.throwIfAborted()
      return response
    },
  }
  const webhooks = createWebhooks({
    database,
    transaction,
    clock,
    ids: systemIds,
    randomness: systemRandomness,
    secretBox: createSecretBox({ current: new Uint8Array(32), previous: [] }, systemRandomness),
    sender,
    members: members.memberships,
    notices: members.notices,
    words,
    assertSessionOpen: alwaysOpen,
    isByPasskey: async () => state.byPasskey,
    permissionsOfPasskey: (permissions) => permissions.filter((each) => state.ofPasskey.includes(each)),
    eventTypes: bankingCatalogue.events,
    source: 'https://portal.test',
    receivers: { allowLoopback: false, ownNames: ['portal.test'] },
    settings: { maxPerWorkspace: 3, allowLoopback: false },
    stepUpMs: 300_000,
    permissionsOf: async (member, workspace) => {
      try {
        return (await members.enter({ ...callerOf(member.accountId), portal: member.portal }, workspace)).permissions
      } catch (error) {
        if (error instanceof Refusal) return undefined
        throw error
      }
    },
    onAttempt: (outcome, failed) => {
      state.outcomes.push(outcome)
      if (failed) state.failed.push(failed)
    },
    accounts: { read: async (_portal, id: AccountId) => ({ email: id, name: 'Operator', locale: 'en' }) },
    mailer: {
      send: async ({ values }) => {
        state.mails.push(JSON.stringify(values))
      },
      close: async () => undefined,
    },
    signInUrl: () => 'https://portal.test/',
  })
  const jobs = new Map([...webhooks.jobs, ...webhooks.mailJobs].map((job) => [job.name, job]))
  const setStatus = (jobId: string, status: 'WAITING' | 'FAILED') =>
    database.updateTable('jobs').set({ status }).where('bizId', '=', jobId).execute()
  const runJobs = async (maxJobs = 1_000): Promise<void> => {
    for (let count = 0; count < maxJobs; count++) {
      const next = await database
        .selectFrom('jobs')
        .selectAll()
        .where('kind', 'like', 'webhooks.%')
        .where('status', '=', 'WAITING')
        .orderBy('runAt')
        .limit(1)
        .executeTakeFirst()
      if (!next) return
      // Another worker does not take it.
      await setStatus(next.bizId, 'FAILED')
      try {
        await jobs.get(next.kind)?.work(next.payload, { ...facts, jobId: next.bizId })
      } catch (error) {
        await setStatus(next.bizId, 'WAITING')
        throw error
      }
      await database.deleteFrom('jobs').where('bizId', '=', next.bizId).execute()
    }
  }
  return Object.assign(state, webhooks, {
    runJobs,
    sweep: async () => {
      await jobs.get('webhooks.sweep')?.work({}, facts)
      await runJobs()
    },
    record: async (workspace: string, type = 'transfer.completed') => {
      const event: StoredEvent = {
        id: systemIds.next<'event'>(),
        at: clock.now(),
        type,
        subject: workspace,
        workspaceId: bizId<'workspace'>(workspace),
        forOperators: true,
        data: { amount: '1.00' },
        position: ++position,
        workspacePosition: position,
      }
      await inTransaction(database, async (tx) => {
        const { id, type: eventType, workspaceId, data, at, ...others } = event
        const row = { ...others, bizId: id, eventType, workspaceBizId: workspaceId, data: JSON.stringify(data) }
        await tx
          .insertInto('events')
          .values({ ...row, at: toDate(at) })
          .execute()
        await webhooks.accept(tx, [event])
      })
      return event.id
    },
  })
}
