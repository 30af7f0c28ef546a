/** The parts of an HTML page on which its content security policy depends. */
export interface PageParts {
  /** Texts of inline scripts and styles. */
  scripts: string[]
  styles: string[]
  hasBase: boolean
  /** Places that the policy blocks: event handlers, style attributes and `javascript:` URLs. */
  blocked: string[]
}

const markupPattern = /<!--(?:-?>|[\s\S]*?(?:--!?>|$))|<[!?][^>]*>|<\/?([a-z][^\s/>]*)/gi
const attributePattern = /[\s/]*(?:>|([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?)/y

/** Elements whose text is not markup (WHATWG HTML, section 13.2.5). */
const textElements: ReadonlySet<string> = new Set(
  'script style textarea title noscript iframe noembed noframes xmp'.split(' '),
)

/**
 * Finds inline scripts and styles. A script that a browser reads differently has another hash, so the browser blocks it.
 */
export function scanPage(source: string): PageParts {
  // Browsers do this before they compute a hash.
  const html = source.replaceAll(/\r\n?/g, '\n')
  const parts: PageParts = { scripts: [], styles: [], hasBase: false, blocked: [] }
  const markup = new RegExp(markupPattern)
  for (let found = markup.exec(html); found; found = markup.exec(html)) {
    const [text, name] = found
    if (name === undefined) continue
    const { attributes, end } = readAttributes(html, markup.lastIndex)
    markup.lastIndex = end
    if (text.startsWith('</')) continue
    const tag = name.toLowerCase()
    parts.hasBase ||= tag === 'base'
    parts.blocked.push(...findBlocked(tag, attributes))
    if (!textElements.has(tag)) continue
    markup.lastIndex = endOfText(html, tag, end)
    const content = html.slice(end, markup.lastIndex)
    if (tag === 'script' && !attributes.has('src') && content !== '') parts.scripts.push(content)
    if (tag === 'style' && content !== '') parts.styles.push(content)
  }
  return parts
}

function readAttributes(html: string, start: number): { attributes: Map<string, string>; end: number } {
  const pattern = new RegExp(attributePattern)
  const attributes = new Map<string, string>()
  pattern.lastIndex = start
  for (let found = pattern.exec(html); found; found = pattern.exec(html)) {
    const [, name, double, single, bare = ''] = found
    if (name === undefined) return { attributes, end: pattern.lastIndex }
    const key = name.toLowerCase()
    // Browsers use the first of two.
    if (!attributes.has(key)) attributes.set(key, double ?? single ?? bare)
  }
  return { attributes, end: html.length }
}

function endOfText(html: string, tag: string, start: number): number {
  const at = html.slice(start).search(new RegExp(`</${tag}[\\s/>]`, 'i'))
  return at < 0 ? html.length : start + at
}

function findBlocked(tag: string, attributes: ReadonlyMap<string, string>): string[] {
  return [...attributes]
    .filter(([name, value]) => /^on[a-z]+$/.test(name) || name === 'style' || /^\s*javascript:/i.test(value))
    .map(([name]) => `${name} of <${tag}>`)
}
