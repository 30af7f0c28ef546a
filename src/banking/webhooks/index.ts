import { declaredBy, domain } from '../../api/domain.ts'
import { type Caller, type HandlerTable, Refusal } from '../../kernel/index.ts'
import type { EventConsumer } from '../../platform/events/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { createWebhookSender } from '../../platform/webhooks/index.ts'
import * as contract from './contract.ts'
import { acceptEvents, type DeliveryOutcome, type DeliveryPorts, deliveryJobs } from './deliver.ts'
import { countWaiting } from './delivery-store.ts'
import { createHandlers, type HandlerPorts } from './handlers.ts'
import { type NoticeMailPorts, operatorMailJob, ownerNotices } from './notices.ts'
import { webhookSettings } from './rules.ts'
import { keyedColumns, migrations } from './schema.ts'
import { countByStatus, suspendWebhooksOf } from './store.ts'

/*
 * Webhooks of a workspace and of the deployment. A webhook sends the events that the person for whom it acts can read.
 * Start reading in `service.ts`; `deliver.ts` sends, through `src/platform/webhooks`.
 */

export interface WebhookPorts extends HandlerPorts, DeliveryPorts, NoticeMailPorts {
  notices: HandlerPorts['notices']
}

export interface Webhooks {
  handlers: HandlerTable
  jobs: JobKind[]
  mailJobs: JobKind[]
  accept: EventConsumer
}

export function createWebhooks(ports: WebhookPorts): Webhooks {
  return {
    handlers: createHandlers(ports),
    jobs: deliveryJobs(ports),
    mailJobs: [operatorMailJob(ports)],
    accept: acceptEvents(ports),
  }
}

export interface WebhookCounts {
  waiting: number
  byStatus: ReadonlyMap<string, number>
}

interface WebhookService {
  count(): Promise<WebhookCounts>
  /** Calls the listener for each attempt. */
  observe(listener: (outcome: DeliveryOutcome) => void): void
}

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    webhooks: typeof ownerNotices
  }
}

declare module '../../api/ports.ts' {
  interface DomainServices {
    webhooks: WebhookService
  }
}

export default domain({
  name: 'webhooks',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  ownerNotices,
  migrations,
  keyedColumns,
  settings: webhookSettings,
  settingsKey: 'webhooks',
  defaults: { maxPerWorkspace: 50, allowLoopback: false },
  profileDefaults: { development: { allowLoopback: true } },
  checkSettings: ({ allowLoopback }, { profile }) =>
    allowLoopback && profile === 'production'
      ? ['webhooks.allowLoopback: must be false in production, because members could reach services of this machine']
      : [],
  uses: ['members'],
  needs: [
    'accounts',
    'clock',
    'database',
    'deployment',
    'events',
    'ids',
    'logger',
    'mailer',
    'randomness',
    'secretBox',
    'sessions',
    'signInUrl',
    'transaction',
    'words',
  ],
  create: ({ use, sessions, deployment, events, logger, settings, ...ports }) => {
    const { memberships, notices, enter } = use('members')
    const listeners: ((outcome: DeliveryOutcome) => void)[] = []
    const { clock, database, signInUrl } = ports
    const signInHosts = deployment.portals.map((portal) => new URL(signInUrl(portal)).hostname)
    const receivers = {
      allowLoopback: settings.allowLoopback,
      ownNames: [...deployment.hosts, ...signInHosts],
    }
    const { handlers, jobs, mailJobs, accept } = createWebhooks({
      ...ports,
      notices,
      settings,
      receivers,
      members: {
        lock: (tx, workspace) => memberships.lock(tx, workspace),
        assertAccess: (tx, account, access) => memberships.assertAccess(tx, account, access),
        assertMayRestore: (tx, account, workspace) => memberships.assertMayRestore(tx, account, workspace),
        assertOutsider: (tx, account, workspace) => memberships.assertOutsider(tx, account, workspace),
      },
      permissionsOf: async (member, workspace) => {
        try {
          return (await enter(toCaller(member), workspace)).permissions
        } catch (error) {
          if (error instanceof Refusal && error.code === 'ACCESS.PERMISSION_DENIED') return undefined
          throw error
        }
      },
      sender: createWebhookSender({ clock, rules: receivers }),
      eventTypes: events.types,
      source: events.source,
      assertSessionOpen: sessions.assertOpen,
      isByPasskey: sessions.isByPasskey,
      permissionsOfPasskey: sessions.permissionsOfPasskey,
      stepUpMs: sessions.stepUpMs,
      onAttempt: (outcome, failed) => {
        for (const listener of listeners) listener(outcome)
        if (failed) logger.warn({ ...failed, outcome }, 'a webhook delivery failed')
      },
    })
    const service: WebhookService = {
      count: async () => ({
        waiting: await countWaiting(database),
        byStatus: new Map((await countByStatus(database)).map(({ status, total }) => [status, total])),
      }),
      observe: (listener) => listeners.push(listener),
    }
    return { handlers, jobs, gatewayJobs: mailJobs, onEvents: accept, service, onAccountRecovered: suspendWebhooksOf }
  },
})

function toCaller(member: Pick<Caller, 'accountId' | 'portal'>): Caller {
  return { ...member, sessionId: null, apiKeyId: null, steppedUpAt: null, permissions: new Set() }
}
