/** The facts that the gateway writes into the page (src/gateway/site/index.ts). */
export interface PageSettings {
  accessCode: string
  /** In development, no edge adds the headers that the gateway requires. */
  edgeHeaders: boolean
  /** Whether the portal has passkeys. */
  passkeys: boolean
  /** The site key of the CAPTCHA. Null if the deployment has none. */
  captchaKey: string | null
  /** Whether visitors can register. */
  selfRegistration: boolean
  /** The name and the prefix of a portal that the configuration declares. Null for CONSUMER and SYSTEM. */
  mount: { portal: string; prefix: string } | null
  /** All portals, for operators. The label is null for CONSUMER and SYSTEM. Empty in the consumer portal. */
  portals: { name: string; label: string | null }[]
}

export function readPageSettings(): PageSettings {
  const content = document.querySelector<HTMLMetaElement>('meta[name="portico"]')?.content
  const settings: unknown = content ? JSON.parse(content) : null
  if (!isPageSettings(settings)) throw new Error('the page has no settings: it is not served by a gateway')
  return settings
}

const flags = ['edgeHeaders', 'passkeys', 'selfRegistration'] as const

function isPageSettings(value: unknown): value is PageSettings {
  if (typeof value !== 'object' || value === null) return false
  const facts = new Map<string, unknown>(Object.entries(value))
  const captchaKey = facts.get('captchaKey')
  return (
    typeof facts.get('accessCode') === 'string' &&
    (captchaKey === null || typeof captchaKey === 'string') &&
    isMount(facts.get('mount')) &&
    Array.isArray(facts.get('portals')) &&
    flags.every((name) => typeof facts.get(name) === 'boolean')
  )
}

function isMount(value: unknown): boolean {
  if (value === null) return true
  return typeof value === 'object' && 'portal' in value && 'prefix' in value
}
