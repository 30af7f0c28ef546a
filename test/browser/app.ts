import { createClient, PorticoError } from '../../src/client/index.ts'

/** The exports that a page's own script would import. */
Object.assign(globalThis, { portico: { createClient, PorticoError } })

declare global {
  var portico: { createClient: typeof createClient; PorticoError: typeof PorticoError }
}
