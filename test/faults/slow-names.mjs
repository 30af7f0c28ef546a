/*
 * Loaded with --import. Looking up a name below `slow.test` occupies a thread of libuv, as a silent name server does:
 * opening a FIFO for reading waits for a writer. SIGUSR2 ends the wait.
 */
import dns from 'node:dns'
import { open, openSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const fifo = process.env.PORTICO_TEST_FIFO ?? ''

/** @type {() => Promise<never>} */
const occupyThread = () => new Promise((_, reject) => open(fifo, 'r', () => reject(new Error('ended'))))

/** @type {(name: string) => boolean} */
const isSlow = (name) => name.endsWith('slow.test')

const { lookup } = dns
const lookupAsync = dns.promises.lookup
Object.assign(dns, {
  /** @type {(name: string, options: dns.LookupOptions, done: (error: Error | null) => void) => void} */
  lookup: (name, options, done) => {
    if (isSlow(name)) occupyThread().catch(done)
    else lookup(name, options, done)
  },
})
Object.assign(dns.promises, {
  /** @type {(name: string, options: dns.LookupOptions) => Promise<unknown>} */
  lookup: (name, options) => (isSlow(name) ? occupyThread() : lookupAsync(name, options)),
})
syncBuiltinESMExports()

process.on('SIGUSR2', () => void openSync(fifo, 'r+'))
