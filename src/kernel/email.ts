/** The form in which addresses are stored and compared: NFKC, trimmed, lower case. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()

/** One plain mailbox: no character that could start another header, another recipient or a display name. */
const mailboxPattern = /^[^\s<>()[\]\\,;:"@\p{Cc}]{1,64}@[^\s<>()[\]\\,;:"@\p{Cc}]{1,253}$/u

/** Returns the address unchanged. Throws TypeError unless it is one mailbox (RFC 5321, 4.1.2, without quoted forms). */
export const parseMailbox = (address: string): string => {
  if (!mailboxPattern.test(address)) throw new TypeError('not a plain mail address')
  return address
}

/** Parses a configured sender: `name <address>` or an address. Throws TypeError for an invalid address. */
export const parseSender = (text: string): { name: string; address: string } => {
  const named = /^([^<>\p{Cc}]*)<([^<>]+)>$/u.exec(text.trim())
  return { name: named?.[1]?.trim() ?? '', address: parseMailbox(named?.[2] ?? text.trim()) }
}

/** Whether a text is a valid sender. */
export const isSender = (text: string): boolean => {
  try {
    return parseSender(text).address !== ''
  } catch {
    return false
  }
}
