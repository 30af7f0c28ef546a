/** Countries with IBANs and the length of each IBAN, from the IBAN Registry of SWIFT (ISO 13616), release 100. */
const lengths: ReadonlyMap<string, number> = new Map(
  [
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29',
    'ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20',
    'LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29',
    'PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30',
  ]
    .join(' ')
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** Whether the text begins as an IBAN does: a country with IBANs, then two digits. Expects upper case. */
export function looksLikeIban(text: string): boolean {
  return /^[A-Z]{2}\d{2}/.test(text) && lengths.has(text.slice(0, 2))
}

/** Checks the length and the check digits (ISO 13616, ISO 7064 MOD 97-10). Expects upper case without separators. */
export function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]+$/.test(text) || text.length !== lengths.get(text.slice(0, 2))) return false
  const checkDigits = Number(text.slice(2, 4))
  // 00, 01 and 99 have the same remainder as 97, 98 and 02.
  if (checkDigits < 2 || checkDigits > 98) return false
  const digits = `${text.slice(4)}${text.slice(0, 4)}`.replaceAll(/[A-Z]/g, (letter) => String(parseInt(letter, 36)))
  return BigInt(digits) % 97n === 1n
}

/** Returns the first valid IBAN within a longer text. Expects upper case without separators. */
export function containedIban(text: string): string | undefined {
  for (const { index } of text.matchAll(/(?=[A-Z]{2}\d{2})/g)) {
    const candidate = text.slice(index, index + (lengths.get(text.slice(index, index + 2)) ?? 0))
    if (isIban(candidate)) return candidate
  }
  return undefined
}
