/** The facts that the gateway writes into the page (src/gateway/site/index.ts). */
export interface PageSettings {
  accessCode: string
  /** In development, no edge adds the headers that the gateway requires. */
  edgeHeaders: boolean
}

export function readPageSettings(): PageSettings {
  const content = document.querySelector<HTMLMetaElement>('meta[name="portico"]')?.content
  const settings: unknown = content ? JSON.parse(content) : null
  if (!isPageSettings(settings)) throw new Error('the page has no settings: it is not served by a gateway')
  return settings
}

function isPageSettings(value: unknown): value is PageSettings {
  return (
    typeof value === 'object' &&
    value !== null &&
    'accessCode' in value &&
    typeof value.accessCode === 'string' &&
    'edgeHeaders' in value &&
    typeof value.edgeHeaders === 'boolean'
  )
}
