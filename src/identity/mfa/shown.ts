import { isValidAt, type Tx, type Validity } from '../../database/index.ts'
import { type Instant, minutes } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { OwnSession } from '../sessions/rules.ts'
import { putShownSecret, readShownSecret, type ShownKind } from './store.ts'

/** Long enough for a second click or a retry. A thief with the session has no longer to see the owner's new secret. */
export const repeatMs = minutes(2)

type ShownPorts = Pick<IdentityPorts, 'secretBox'>

/**
 * Returns what the session saw at the time of the account's present factor, unless this is too long ago. The caller must
 * have locked the account's row, so that parallel requests see one secret.
 */
export async function readShown(
  { secretBox }: ShownPorts,
  tx: Tx,
  session: OwnSession,
  kind: ShownKind,
  { factorAt, now }: { factorAt: Instant | null; now: Instant },
): Promise<Uint8Array | undefined> {
  const shown = await readShownSecret(tx, session, kind)
  if (shown?.shownAt !== factorAt) return undefined
  if (!isValidAt({ from: shown.shownAt, until: shown.expiresAt }, now)) return undefined
  return secretBox.open('shown-secret', shownContext(session.portal, session.sessionId, kind), shown.secret)
}

/** The account's row must be locked. Replaces what any session has seen. `from` is the time of the factor. */
export function keepShown(
  { secretBox }: ShownPorts,
  tx: Tx,
  session: OwnSession,
  kind: ShownKind,
  secret: Uint8Array,
  period: Validity,
): Promise<void> {
  const sealed = secretBox.seal('shown-secret', shownContext(session.portal, session.sessionId, kind), secret)
  return putShownSecret(tx, session, kind, sealed, period)
}

/** Binds a secret to its session. */
export function shownContext(portal: string, sessionId: string, kind: string): string {
  return `${portal}:${sessionId}:${kind}`
}
