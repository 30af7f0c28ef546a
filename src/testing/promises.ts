import type { Domain } from '../api/domain.ts'
import { bankingDomains } from '../banking/index.ts'
import { pipelineCodes } from '../kernel/index.ts'
import { WatchedHandlers } from './handlers.ts'
import { send } from './http.ts'
import { type Route, routesIn } from './routes.ts'
import { type TestFunctions, toRunner } from './runner.ts'
import { startTestGateway } from './start.ts'
import { EffectStore } from './store.ts'
import {
  needsSample,
  registerAudit,
  registerCatalogue,
  registerIdempotency,
  registerPerimeter,
  registerReadOnly,
  registerRefusals,
  registerReplies,
  registerSandbox,
  registerTenancy,
  registerValidation,
  type Suite,
} from './suites/index.ts'
import { type Gateway, type Samples, World } from './world.ts'

export interface PromiseOptions {
  /** Configuration that overrides the defaults. */
  settings?: object
  /**
   * Valid input by operation id. Required if the input contains an id, if the operation is idempotent, or if no valid
   * input can be derived. A failing test names the missing entry.
   */
  samples?: Samples
  /** Ids of commands that every member of a workspace may execute. */
  openToReaders?: readonly string[]
  /** Ids of POST operations that change nothing, and therefore write no audit entry. */
  unaudited?: readonly string[]
  /** Ids of lists that show the same in every workspace, such as products. Others must show what the samples create. */
  sharedLists?: readonly string[]
}

/** A place executes commands of operators as the same operator, who cannot confirm their own rate. */
const needsSecondOperator = 'exchanges.confirmRate'

/**
 * Registers the tests that the policies of `domains` imply, for each operation on each chain:
 *
 * - perimeter: access code, headers, tokens and workspace
 * - tenancy: ids of other workspaces are like unknown ones, and lists show nothing of them
 * - read-only roles read everything and write nothing
 * - validation: unknown fields, wrong types, malformed ids
 * - idempotency: one effect per X-Request-Id, in replies, rows, balances and audit entries
 * - audit: each command writes an entry
 * - sandbox: a reset removes the rows of the workspace
 * - replies: the declared fields only, otherwise a 500
 * - OpenAPI and typed client
 * - refusals: declared codes only
 *
 * The gateway also has Portico's own domains. Pass the functions of vitest,
 * `promises([loans], { describe, test, beforeAll, afterAll, expect })`, or of `node:test`,
 * `promises([loans], { describe, test, before, after })`.
 */
export function promises(domains: readonly Domain[], functions: TestFunctions, options: PromiseOptions = {}): void {
  const { settings = {}, samples = {}, openToReaders = [], unaudited = [], sharedLists = [] } = options
  const runner = toRunner(functions)
  const added = domains.filter((domain) => !bankingDomains.includes(domain))
  const ours = domains.filter((domain) => bankingDomains.includes(domain))
  const handlers = new WatchedHandlers()
  const routes = routesOfAll(domains)
  const codes = Object.assign({}, pipelineCodes, ...domains.map((domain) => domain.codes ?? {}))
  let opened: World | undefined
  const suite = {
    runner,
    world: (): World => {
      if (!opened) throw new Error('the gateway has not started')
      return opened
    },
  }
  runner.describe('the promises of the policies', () => {
    runner.beforeAll(async () => {
      const watched = added.map((domain) => handlers.watch(domain))
      const gateway = await handlers.watchWhile(ours, () => startGateway([...bankingDomains, ...watched], settings))
      opened = await World.open(gateway, samples)
    })
    runner.afterAll(async () => opened?.gateway.stop())
    describeSuite(suite, 'perimeter', (each) => registerPerimeter(routes, each))
    const checkedLists = routesOfAll(added)
      .map(({ operation }) => operation.id)
      .filter((id) => !sharedLists.includes(id))
    describeSuite(suite, 'tenancy', (each) => registerTenancy(routes, each, checkedLists))
    describeSuite(suite, 'read-only roles', (each) => registerReadOnly(routes, each, openToReaders))
    describeSuite(suite, 'validation', (each) => registerValidation(routes, each))
    describeSuite(suite, 'idempotency', (each) => registerIdempotency(routes, each))
    // Portico's end-to-end tests call the other operations, with the state that they need.
    const canSucceed = ({ method, operation }: Route): boolean =>
      operation.id !== needsSecondOperator &&
      (Object.hasOwn(samples, operation.id) || (method === 'GET' && !needsSample(operation)))
    describeSuite(suite, 'audit', (each) =>
      registerAudit([...routesOfAll(added), ...routesOfAll(ours).filter(canSucceed)], each, unaudited),
    )
    describeSuite(suite, 'sandbox', (each) => registerSandbox(added, each, (name) => handlers.tablesOf(name)))
    describeSuite(suite, 'replies', (each) => {
      registerReplies(routesOfAll(added), each, handlers)
      registerReplies(routesOfAll(ours), each, handlers, canSucceed)
    })
    const contract = added.map(({ operations }) => operations)
    describeSuite(suite, 'OpenAPI and typed client', (each) => registerCatalogue(routes, each, { codes, contract }))
    describeSuite(suite, 'refusals', (each) => registerRefusals(routes, each, handlers))
  })
}

function routesOfAll(domains: readonly Domain[]): readonly Route[] {
  return domains.flatMap(({ operations }) => routesIn(operations))
}

async function startGateway(domains: readonly Domain[], settings: object): Promise<Gateway> {
  // Some tests cause a 500 on purpose. WatchedHandlers reports the others.
  const defaults = {
    log: { level: 'silent' },
    // Most tests create a workspace.
    access: { workspaces: { maxPerAccount: 10_000 } },
  }
  const portico = await startTestGateway({ domains, settings: { ...defaults, ...settings } })
  return {
    url: portico.url,
    call: (method, path, call) => send(portico.url, method, path, call),
    signIn: async (email) => {
      const isOperator = /^(operator|checker)@/.test(email)
      const client = await (isOperator ? portico.signInOperator(email) : portico.signInConsumer(email))
      const tokens = await client.session.tokens()
      if (!tokens) throw new Error(`the sign-in of ${email} has no tokens`)
      return tokens
    },
    mailTo: portico.mailTo,
    effects: new EffectStore(portico.database),
    stop: portico.stop,
  }
}

/** vitest rejects an empty suite. */
function describeSuite(suite: Suite, name: string, register: (suite: Suite) => void): void {
  const { runner } = suite
  const tests: (() => void)[] = []
  const hooks: (() => void)[] = []
  register({
    ...suite,
    runner: {
      ...runner,
      test: (...test) => void tests.push(() => runner.test(...test)),
      beforeAll: (hook) => void hooks.push(() => runner.beforeAll(hook)),
    },
  })
  if (tests.length > 0)
    runner.describe(name, () => {
      for (const each of [...hooks, ...tests]) each()
    })
}
