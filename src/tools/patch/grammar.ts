/** Grammar: the patch format for models that write free-form calls (Lark). parse.ts is what decides. */
export const PATCH_GRAMMAR = `start: "*** Begin Patch" LF section+ "*** End Patch" LF?

section: addition | deletion | update

addition: "*** Add File: " path LF added_line*
deletion: "*** Delete File: " path LF
update: "*** Update File: " path LF target? hunk*

target: "*** Move to: " path LF
hunk: place* line+ end?
place: "@@" LF | "@@ " TEXT LF
line: added_line | "-" TEXT? LF | " " TEXT? LF
added_line: "+" TEXT? LF
end: "*** End of File" LF

path: TEXT
TEXT: /[^\\n]+/

%import common.LF
`;
