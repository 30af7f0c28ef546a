/**
 * Returns the letters and digits of a payment reference (NFKC, upper case). The result is empty if the text has none,
 * and idempotent. No standard defines it: banks change the case, the width and the separators of what the payer enters.
 */
export function canonicalReference(text: string): string {
  return lettersAndDigits(text, /[^\p{L}\p{N}]/gu)
}

/** Upper case can decompose a letter, such as `ŉ`, so the text is normalized after it, too. */
function lettersAndDigits(text: string, others: RegExp): string {
  return text.normalize('NFKC').toUpperCase().normalize('NFKC').replaceAll(others, '')
}
