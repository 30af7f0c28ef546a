/* The module `portico`: starts a gateway with the caller's domains. `api/index.ts` has the exports for domains. */
import { argv, exit, stderr, stdin, stdout } from 'node:process'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import type { Domain } from './api/domain.ts'
import { bankingDomains } from './banking/index.ts'
import { helpOf, helpOption, UsageError } from './cli/command.ts'
import { reportError, runCommand } from './cli/run.ts'
import { type Serving, serve as serveCommand, startServing } from './cli/serve.ts'
import { exitOnSignals } from './cli/signals.ts'
import { buildOpenApiDocument, wordsOf } from './compose/catalogue.ts'
import { catalogueOf, loadConfigured } from './compose/extensions.ts'
import { isRole } from './compose/index.ts'
import { readVariables } from './config/env.ts'
import { loadConfiguration } from './config/index.ts'

export * from './api/index.ts'
export { bankingDomains }

export interface PorticoOptions {
  /** In addition to those from `extensions`. Default: `bankingDomains`. */
  domains?: readonly Domain[]
}

/** The ports of a gateway. */
export interface Listening {
  /** Port of the portal listener. */
  port: number
  /** Port for health, metrics and the outbox. */
  operationsPort: number
}

/** A gateway that is not started yet. */
export interface Portico {
  /**
   * Starts the gateway like `portico serve`, by default with the options of this process. Resolves once both listeners
   * are open. A signal ends the process, and so does `--help`, which prints the options.
   *
   * Rejects if a store cannot be opened, or with the errors of options, configuration and domains. If nothing catches
   * the error, the process prints it without its stack and ends with the exit code of `portico serve`.
   */
  serve(args?: readonly string[]): Promise<Listening>
  /** Returns the OpenAPI 3.1 document of the configured operations, like `portico openapi`. */
  openapi(): Promise<Record<string, unknown>>
  /** Runs any command, such as `['migrate']`. Resolves with its exit code. */
  run(args: readonly string[]): Promise<number>
  /** Drains the gateway and closes everything. */
  close(): Promise<void>
}

/** Errors of this module's functions. */
const thrown = new WeakSet<Error>()

/** Creates a gateway with these domains, configured like the `portico` program. */
export function portico({ domains = bankingDomains }: PorticoOptions = {}): Portico {
  let serving: Serving | undefined
  let isClosing = false
  return {
    serve: (args = argv.slice(2)) =>
      endUncaught(async () => {
        if (serving) throw new Error('this gateway is serving already')
        const role = roleOf(args)
        exitOnSignals()
        serving = await startServing({ domains, variables: readVariables(), stderr }, role)
        void serving.finished.then((code) => {
          // After `close`, the caller ends the process.
          if (!isClosing) exit(code)
        })
        const { port, operationsPort } = serving.running
        return { port, operationsPort }
      }),
    openapi: () =>
      endUncaught(async () => {
        const settings = loadConfiguration(readVariables(), domains)
        const { domains: loaded } = await loadConfigured(domains, settings)
        const catalogue = catalogueOf(loaded)
        const isDevelopment = settings.profile === 'development'
        return buildOpenApiDocument(catalogue, wordsOf(catalogue, loaded), { isDevelopment })
      }),
    run: (args) => runCommand(args, { domains, variables: readVariables(), stdin, stdout, stderr }),
    close: async () => {
      isClosing = true
      serving?.close()
      await serving?.finished
    },
  }
}

/** If nothing catches an error of `work`, it ends the process like a failed command. */
async function endUncaught<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Error) thrown.add(error)
    process.off('uncaughtExceptionMonitor', reportUncaught).on('uncaughtExceptionMonitor', reportUncaught)
    throw error
  }
}

function reportUncaught(error: Error): void {
  if (thrown.has(error) && process.listenerCount('uncaughtException') === 0) exit(reportError(error, stderr))
}

function roleOf(args: readonly string[]) {
  const options: ParseArgsOptionsConfig = { ...serveCommand.options, ...helpOption }
  const { role, workers, help } = parseArgs({ args: [...args], options }).values
  if (help) {
    stdout.write(helpOf(serveCommand))
    exit(0)
  }
  if (!isRole(role)) throw new UsageError(`--role must be gateway or domains, not '${String(role)}'`)
  if (workers !== '1')
    throw new UsageError("--workers starts processes: call run(['serve', '--workers', …]) instead of serve()")
  return role
}
