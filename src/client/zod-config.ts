import { config } from 'zod'

/*
 * Imported before the contract, by each module that makes a client: a bundler passes over a door such as index.ts and what
 * that imports for its effect. zod compiles validators where it may, and finds out whether it may by trying, which a page's
 * strict content security policy reports as a violation; in a browser it is told not to try.
 */
if (typeof document !== 'undefined') config({ jitless: true })
