import { AsyncLocalStorage } from 'node:async_hooks'
import { outsideCommand } from './command-gate.ts'

/** Who opened a transaction, and with which port. */
export interface Opener {
  /** An operation id, or the name of a domain. */
  owner: string
  port: 'once' | 'transaction' | 'before'
}

interface Running extends Opener {
  hasEnded: boolean
  /** The first error of `assertNoTransaction`. */
  misuse?: Error
}

const running = new AsyncLocalStorage<Running | undefined>()

/**
 * Marks the asynchronous context of `work` until `work` settles. Rejects if `work` used another port, even if it did not
 * wait for it.
 */
export async function whileRunning<T>(opener: Opener, work: () => Promise<T>): Promise<T> {
  const mark: Running = { ...opener, hasEnded: false }
  try {
    const result = await running.run(mark, work)
    if (mark.misuse) throw mark.misuse
    return result
  } finally {
    mark.hasEnded = true
  }
}

/**
 * Throws inside a running transaction. A second connection would wait for the first one forever on the embedded store,
 * and would write outside of the transaction on PostgreSQL.
 */
export function assertNoTransaction(port: string): void {
  const mark = running.getStore()
  if (!mark || mark.hasEnded) return
  mark.misuse ??= new Error(`${mark.owner} uses \`${port}\` inside \`${mark.port}\`: use \`tx\``)
  throw mark.misuse
}

/** Runs work for which a running transaction does not wait. */
export function detached<T>(work: () => T): T {
  return outsideCommand(() => running.run(undefined, work))
}

/** Comments and texts can contain anything. The first alternative starts a comment, which can contain others. */
const opaque =
  /\/\*|--[^\n]*|\be'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$((?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?\$\1\$/giu

/** A savepoint is part of its transaction. */
const control = /^\s*(?:begin|commit|end|abort|start\s+transaction|prepare\s+transaction|rollback(?!.*\bto\b))\b/isu

/** Statements that need no closer look: almost all. */
const plain = /^\s*(?:select|insert|update|delete|with|merge)\b[^;]*$/iu

/**
 * Throws if a statement begins or ends a transaction. A command that commits early could fail afterwards, and its retry
 * would then take effect a second time.
 */
export function assertNoTransactionControl(text: string): void {
  if (plain.test(text)) return
  const found = withoutOpaque(text)
    .split(';')
    .find((each) => control.test(each))
  if (found === undefined) return
  throw new Error(`${found.trim().split(/\s/u, 1)[0]?.toUpperCase()} is not a statement of a command: return or throw`)
}

const reads = /^\s*(?:select|with|values)\b/iu
const writes = /\b(?:insert|update|delete|merge)\b/iu

/** Throws if a statement could write. Cannot know what a function of the database does. */
export function assertReads(text: string, command: string): void {
  const visible = withoutOpaque(text)
  if (reads.test(visible) && !writes.test(visible)) return
  throw new Error(`${command} has hooks: write inside \`once\` or \`transaction\`, where they run first`)
}

/** Replaces each comment and each quoted part by a space. */
function withoutOpaque(text: string): string {
  let rest = ''
  let from = 0
  opaque.lastIndex = 0
  for (let found = opaque.exec(text); found; found = opaque.exec(text)) {
    rest += `${text.slice(from, found.index)} `
    from = found[0] === '/*' ? endOfComment(text, found.index) : opaque.lastIndex
    opaque.lastIndex = from
  }
  return rest + text.slice(from)
}

function endOfComment(text: string, start: number): number {
  const bounds = /\/\*|\*\//g
  bounds.lastIndex = start
  for (let depth = 0, found = bounds.exec(text); found; found = bounds.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return bounds.lastIndex
  }
  return text.length
}
