/* Base64 and its URL form by what every browser and Node have. */

/** Texts are decoded in pieces, since a call takes only so many arguments. */
const piece = 8_192

export const toBase64url = (bytes: Uint8Array): string => {
  let binary = ''
  for (let at = 0; at < bytes.length; at += piece) binary += String.fromCharCode(...bytes.subarray(at, at + piece))
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Throws where the text is no base64, in either form. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (char) => char.charCodeAt(0))
}

export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
