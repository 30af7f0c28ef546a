/** The spent sequence numbers: the highest, and a bit for each of the preceding ones (RFC 4303, section 3.4.3). */
export interface ReplayWindow {
  highest: number
  /** Bit n: whether `highest - n` is spent. */
  bits: bigint
}

export const emptyWindow: ReplayWindow = { highest: 0, bits: 0n }

/** The window after spending a number; undefined if the number is spent, too old, or not a positive integer. */
export const spendIn = (window: ReplayWindow, sequence: number, size: number): ReplayWindow | undefined => {
  if (!Number.isSafeInteger(sequence) || sequence < 1) return undefined
  const age = window.highest - sequence
  if (age >= size) return undefined
  if (age >= 0) {
    const bit = 1n << BigInt(age)
    return window.bits & bit ? undefined : { highest: window.highest, bits: window.bits | bit }
  }
  const moved = -age >= size ? 0n : BigInt.asUintN(size, window.bits << BigInt(-age))
  return { highest: sequence, bits: moved | 1n }
}
