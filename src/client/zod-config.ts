import { config } from 'zod'

/*
 * Each module that creates a client imports this before the contract, because bundlers skip the side effects of an
 * index.ts. A strict content security policy reports zod's compiled validators as violations.
 */
if (typeof document !== 'undefined') config({ jitless: true })
