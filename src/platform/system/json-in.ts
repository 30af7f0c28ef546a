/** What an answer from outside says. The parser's own error quotes what it could not read, and no log is to hold that. */
export const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('the answer is no JSON')
  }
}
