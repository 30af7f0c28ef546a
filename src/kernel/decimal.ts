/** The digits of a decimal string on either side of its point; undefined for a sign, an exponent or a leading zero. */
export const decimalDigits = (text: string): { whole: string; fraction: string } | undefined => {
  const [matched, whole = '', fraction = ''] = /^(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text) ?? []
  return matched === undefined ? undefined : { whole, fraction }
}
