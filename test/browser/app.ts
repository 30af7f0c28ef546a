import { createClient, PorticoError } from '../../src/client/index.ts'
import { webAuthn } from '../../src/client/passkeys/index.ts'

Object.assign(globalThis, { portico: { createClient, PorticoError, webAuthn } })

declare global {
  var portico: { createClient: typeof createClient; PorticoError: typeof PorticoError; webAuthn: typeof webAuthn }
}
