/** The form in which addresses are compared: one account and one counter, however case and width are typed. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()

/** One plain mailbox: nothing that could begin another header, another recipient or a display name. */
const mailbox = /^[^\s<>()[\]\\,;:"@\p{Cc}]{1,64}@[^\s<>()[\]\\,;:"@\p{Cc}]{1,253}$/u

/** The address as it is; throws for whatever is not one mailbox (RFC 5321, 4.1.2, without its quoted forms). */
export const parseMailbox = (address: string): string => {
  if (!mailbox.test(address)) throw new TypeError('no plain mail address')
  return address
}

/** The sender as the configuration gives it: `name <address>` or an address alone. */
export const parseSender = (text: string): { name: string; address: string } => {
  const named = /^([^<>\p{Cc}]*)<([^<>]+)>$/u.exec(text.trim())
  return { name: named?.[1]?.trim() ?? '', address: parseMailbox(named?.[2] ?? text.trim()) }
}

/** Whether mail can be sent from it. */
export const isSender = (text: string): boolean => {
  try {
    return parseSender(text).address !== ''
  } catch {
    return false
  }
}
