/** Text of one speaker in the voice of another, on wires that do not have the speaker. */
export function tagged(speaker: string, text: string): string {
  return `<${speaker}>\n${text}\n</${speaker}>`;
}
