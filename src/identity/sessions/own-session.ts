import { type AccountId, type Caller, type Portal, Refusal, type SessionId } from '../../kernel/index.ts'

/** The account and the live session that a call comes by. */
export interface OwnSession {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
}

/** What concerns a session refuses an API key, which has none. */
export const ownSession = ({ portal, accountId, sessionId }: Caller): OwnSession => {
  if (sessionId === null) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'an API key has no session' })
  return { portal, accountId, sessionId }
}
