import { config } from 'zod'

/*
 * Imported before the contract by each module that creates a client, because bundlers skip the side effects of an index.ts.
 * zod tries to compile validators at load time, which a strict content security policy reports as a violation. Disable
 * that in browsers.
 */
if (typeof document !== 'undefined') config({ jitless: true })
