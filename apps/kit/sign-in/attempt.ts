/** For which the browser went to the page of an identity provider. */
export type AttemptKind = 'sign-in' | 'link' | 'step-up'

export interface ProviderAttempt {
  kind: AttemptKind
  sessionId: string
  /** The page of the application to return to. */
  returnPath: string
}

const storageKey = 'portico.provider'
const kinds: readonly AttemptKind[] = ['sign-in', 'link', 'step-up']

/** Leads the browser to the provider. */
export function leaveForProvider(
  kind: AttemptKind,
  { sessionId, authorizationUrl }: { sessionId: string; authorizationUrl: string },
): void {
  const attempt: ProviderAttempt = { kind, sessionId, returnPath: pathInApp() }
  sessionStorage.setItem(storageKey, JSON.stringify(attempt))
  location.assign(authorizationUrl)
}

/** The attempt that this tab has begun. It works once. */
export function takeAttempt(): ProviderAttempt | null {
  const stored = sessionStorage.getItem(storageKey)
  sessionStorage.removeItem(storageKey)
  const attempt: unknown = stored === null ? null : JSON.parse(stored)
  return isAttempt(attempt) ? attempt : null
}

/** Without the first segment, which is the application. */
function pathInApp(): string {
  return `${location.pathname.replace(/^\/[^/]+/, '') || '/'}${location.search}`
}

function isAttempt(value: unknown): value is ProviderAttempt {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    kinds.some((kind) => kind === value.kind) &&
    'sessionId' in value &&
    typeof value.sessionId === 'string' &&
    'returnPath' in value &&
    typeof value.returnPath === 'string'
  )
}
