/*
 * The module `portico` of the npm package: `portico` starts a gateway with the domains of its caller, and `api/index.ts` has
 * the exports for domains.
 */
import { argv, exit } from 'node:process'
import { parseArgs } from 'node:util'
import type { Domain } from './api/domain.ts'
import { UsageError } from './cli/command.ts'
import { runCommand } from './cli/run.ts'
import { type Serving, serve as serveCommand, startServing } from './cli/serve.ts'
import { exitOnSignals } from './cli/signals.ts'
import { buildOpenApiDocument, wordsOf } from './compose/catalogue.ts'
import { catalogueOf } from './compose/extensions.ts'
import { isRole } from './compose/index.ts'
import { loadConfigured } from './compose/loading.ts'
import { readVariables } from './config/env.ts'
import { loadConfiguration } from './config/index.ts'
import { bankingDomains } from './domains/index.ts'

export * from './api/index.ts'
export { bankingDomains }

export interface PorticoOptions {
  /** The domains of the process. Domains of `extensions` in the configuration are added. Default: `bankingDomains`. */
  domains?: readonly Domain[]
}

/** The ports on which a gateway listens. */
export interface Listening {
  /** Port of the portal listener. */
  port: number
  /** Port of the operations listener: health, metrics and the development outbox. */
  operationsPort: number
}

/** A gateway that is not started yet. */
export interface Portico {
  /**
   * Starts like `portico serve` and resolves when both listeners are open. `args` are the options of that command; by
   * default those of this process. A signal drains the gateway, and the process ends once everything is closed. Rejects
   * if the configuration or a domain is invalid, with an error that lists all faults, or if a store cannot be opened.
   */
  serve(args?: readonly string[]): Promise<Listening>
  /** Returns the OpenAPI 3.1 document of the configured operations. */
  openapi(): Promise<Record<string, unknown>>
  /** Runs any command of `portico`, such as `['migrate']`. Resolves with its exit code. Errors go to standard error. */
  run(args: readonly string[]): Promise<number>
  /** Drains the gateway and closes its listeners and stores. Does nothing if it was not started. */
  close(): Promise<void>
}

const roleOf = (args: readonly string[]) => {
  const { role } = parseArgs({ args: [...args], options: serveCommand.options }).values
  if (!isRole(role)) throw new UsageError(`--role must be gateway or domains, not '${String(role)}'`)
  return role
}

/**
 * Creates a gateway that serves these domains. It reads the same configuration as `portico`: PORTICO_CONFIG and the
 * variables that override it.
 */
export const portico = ({ domains = bankingDomains }: PorticoOptions = {}): Portico => {
  let serving: Serving | undefined
  let isClosing = false
  return {
    serve: async (args = argv.slice(2)) => {
      if (serving) throw new Error('this gateway is serving already')
      const role = roleOf(args)
      exitOnSignals()
      serving = await startServing(domains, role)
      void serving.finished.then((code) => {
        // After `close`, the caller decides when the process ends. After a signal or a fatal error, the process ends
        // here.
        if (!isClosing) exit(code)
      })
      const { port, operationsPort } = serving.running
      return { port, operationsPort }
    },
    openapi: async () => {
      const { domains: loaded } = await loadConfigured(domains, loadConfiguration(readVariables()))
      const catalogue = catalogueOf(loaded)
      return buildOpenApiDocument(catalogue, wordsOf(catalogue, loaded))
    },
    run: (args) => runCommand(args, domains),
    close: async () => {
      isClosing = true
      serving?.close()
      await serving?.finished
    },
  }
}
