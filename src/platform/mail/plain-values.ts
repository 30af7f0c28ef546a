/** Mail clients turn these into links even without `//`. */
const schemes =
  /\b(mailto|tel|sms|callto|skype|facetime|javascript|vbscript|data|file|xmpp|bitcoin|geo|magnet):(?=\S)/gi

/** A dot between two labels of a domain name. */
const domainDot = /(?<=[\p{L}\p{M}\p{N}_-])[.\uff0e](?=\p{L}[\p{L}\p{M}\p{N}-])/gu

/** IDNA (UTS 46) treats the full stop of Chinese or Japanese as a dot. */
const ideographicDot = /(?<=[a-z\d_-])[\u3002\uff61](?=[a-z][a-z\d-])/gi

/**
 * No part of a value may become a link in any mail client: users could send links to strangers under the name of the
 * deployment. Domain names keep their text, with `[.]` instead of the dots.
 */
export function plainValue(value: string): string {
  return (
    oneLine(value)
      .replace(/:(?=\/\/)/g, '[:]')
      .replace(schemes, '$1[:]')
      .replace(/\bwww\./gi, 'www[.]')
      .replace(domainDot, '[.]')
      .replace(ideographicDot, '[.]')
      // Outlook links paths that begin with two backslashes.
      .replace(/\\{2,}/g, '\\')
  )
}

/** Only Portico or a domain sets links: `url`, or a name that ends in `Url`. */
export function isLink(name: string): boolean {
  return name === 'url' || name.endsWith('Url')
}

export const linkValue = oneLine

/** Line breaks and bidirectional controls could change the text around a value. */
function oneLine(value: string): string {
  return value.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
}
