import { expect, inject } from 'vitest'
import type { Domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import type { JobPace } from '../../src/compose/jobs.ts'
import type { Variables } from '../../src/config/env.ts'
import type { Durations } from '../../src/kernel/index.ts'
import { type Running, startServer } from '../../src/main.ts'
import type { AnyTemplate } from '../../src/platform/mail/index.ts'
import { systemDurations } from '../../src/platform/runtime/index.ts'
import { watchAudit } from './audit-watch.ts'
import { type Answer, type Call, send } from './http.ts'
import { captureLog, type LogLine } from './log.ts'
import { freePort } from './postgres.ts'
import { testSettings, upstreamAt, type WholeSettings } from './settings.ts'
import { outboxOf } from './sign-in.ts'
import { createStore } from './store.ts'

export interface DevelopmentMail {
  to: string
  subject: string
  text: string
  html: string
  template: AnyTemplate
  locale: string
  /** ISO 8601. */
  at: string
}

export interface Portico {
  /** Each read returns the next replica. */
  readonly url: string
  urls: string[]
  /** URL for the first replica. */
  operationsUrl: string
  settings: WholeSettings
  running: Running
  /** URL for the role that owns the database. Empty on the embedded store. */
  databaseUrl: string
  log: LogLine[]
  rawLog: string[]
  unserved: string[]
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** Records another client's request, whose audit entry `stop` checks. */
  recordCall(method: string, path: string, answer: Answer, call?: Call): void
  /** Waits for the newest mail, with `template` for one of that template. */
  mailTo(address: string, template: AnyTemplate): Promise<DevelopmentMail>
  /** Newest first. */
  mailsTo(address: string): Promise<DevelopmentMail[]>
  /** `stop` fails on any other fault. */
  expectFault(matches: (line: LogLine) => boolean): void
  stop(): Promise<void>
}

export interface Options {
  /** Domains in addition to Portico's own. */
  domains?: readonly Domain[]
  variables?: Variables
  adjust?: (settings: WholeSettings) => void
  durations?: Durations
  /** Replaces the intervals of jobs. */
  pace?: JobPace
  /** Runs before the start, for example a command of the CLI. */
  prepare?: (variables: Variables) => Promise<void>
}

/** The domain service serves Portico's own domains. Both gateways serve the test's domains themselves, unless the test sets their backends. */
function useService(settings: WholeSettings, url: string, added: readonly Domain[]): void {
  settings.backends = {
    ...Object.fromEntries(added.map(({ name }) => [name, 'in-process' as const])),
    ...settings.backends,
    default: upstreamAt(url, {
      audience: settings.assertion.audience,
      timeoutMs: 10_000,
      breaker: { failures: 5, openMs: 500 },
    }),
  }
}

/** Starts the production composition in the project's topology. */
export async function startPortico({
  domains: added = [],
  variables = {},
  adjust,
  durations = systemDurations,
  pace = {},
  prepare,
}: Options = {}): Promise<Portico> {
  const isDistributed = inject('topology') === 'distributed'
  const store = await createStore()
  await prepare?.({ ...store.variables, ...variables })
  const operationsPort = await freePort()
  const settings = testSettings({ ...store.variables, ...variables }, (draft) => {
    draft.listen.operationsPort = operationsPort
    adjust?.(draft)
  })
  const operationsUrl = `http://127.0.0.1:${operationsPort}`
  const captured = captureLog()
  const served = [...bankingDomains, ...added]
  const runBeside = (role: 'gateway' | 'domains', assertion = settings.assertion): Promise<Running> => {
    const listen = { ...settings.listen, operationsPort: 0 }
    return startServer(served, { ...settings, listen, assertion }, role, captured.logger, { durations, pace })
  }
  const services: Running[] = []
  if (isDistributed) {
    // Starts first, but needs the gateway's keys only for the first request.
    const service = await runBeside('domains', {
      ...settings.assertion,
      jwksUrl: `${operationsUrl}/.well-known/jwks.json`,
    })
    services.push(service)
    useService(settings, `http://127.0.0.1:${service.port}`, added)
  }
  const running = await startServer(served, settings, 'gateway', captured.logger, { durations, pace })
  // The replicas share only the store, Redis and the service. Calls alternate between them.
  const replicas = isDistributed ? [running, await runBeside('gateway')] : [running]
  let turn = 0
  const nextUrl = () => `http://127.0.0.1:${replicas[turn++ % replicas.length]?.port}`
  const mailsTo = async (address: string): Promise<DevelopmentMail[]> => {
    const mails: DevelopmentMail[] = await (await fetch(`${operationsUrl}/mail.json`)).json()
    return mails.filter(({ to }) => to === address)
  }
  const expected: ((line: LogLine) => boolean)[] = []
  const auditWatch = watchAudit(store.variables.DATABASE_URL)
  return {
    get url() {
      return nextUrl()
    },
    urls: replicas.map(({ port }) => `http://127.0.0.1:${port}`),
    operationsUrl,
    settings,
    running,
    databaseUrl: store.databaseUrl,
    log: captured.lines,
    rawLog: captured.raw,
    unserved: running.unserved,
    call: async (method, path, call) => {
      const answer = await send(nextUrl(), method, path, call)
      auditWatch.recordCall(method, path, answer, call)
      return answer
    },
    recordCall: auditWatch.recordCall,
    mailsTo,
    mailTo: outboxOf({ operationsUrl }),
    expectFault: (matches) => expected.push(matches),
    stop: async () => {
      for (const each of [...replicas, ...services]) await each.stop()
      const missing = await auditWatch.missing()
      await store.remove()
      expect(missing, 'commands without a complete audit entry').toEqual([])
      const faults = captured.faults().filter((line) => !expected.some((matches) => matches(line)))
      expect(faults, 'faults in the log').toEqual([])
    },
  }
}
