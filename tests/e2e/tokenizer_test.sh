#!/bin/bash
# shoal tokenizer: there and back, standard input, training, and what is said about wrong files.
# shellcheck source=tests/e2e/expect.sh
. "$(dirname "$0")/expect.sh"

seeds=$SHOAL_SOURCE_DIR/tests/fuzz/seeds/tokenizer_fuzz
small=$seeds/gpt2.json

printf 'the thing<|end|>\xff the' >"$scratch/text"
expect_exit 0 "$shoal" tokenizer encode --tokenizer "$small" "$scratch/text"
cp "$scratch/out" "$scratch/ids"
expect_exit 0 "$shoal" tokenizer decode --tokenizer "$small" "$scratch/ids"
cmp "$scratch/out" "$scratch/text" || fail 'decoding does not give the bytes back'
"$shoal" tokenizer encode --tokenizer "$small" <"$scratch/text" | cmp - "$scratch/ids" || fail 'standard input'
expect_exit 0 "$shoal" tokenizer encode --added --tokenizer "$small" "$scratch/text"
expect_text "$scratch/out" '^261$'
refuse_text "$scratch/ids" '^261$'
expect_exit 0 "$shoal" tokenizer encode --count --tokenizer "$small" "$scratch/text"
expect_text "$scratch/out" "^  count +$(wc -l <"$scratch/ids")$"
expect_exit 0 "$shoal" tokenizer info --tokenizer "$small"
expect_text "$scratch/out" '<\|end\|> +261'

expect_exit 3 "$shoal" tokenizer encode --tokenizer /no/such/tokenizer.json "$scratch/text"
expect_text "$scratch/err" '/no/such/tokenizer.json'
expect_exit 3 "$shoal" tokenizer encode --tokenizer "$scratch/text" "$scratch/text"
expect_text "$scratch/err" 'cannot be used as a tokenizer: this is no JSON'
expect_exit 3 "$shoal" tokenizer encode --tokenizer "$small" /no/such/file
expect_text "$scratch/err" 'cannot open /no/such/file'
expect_exit 3 "$shoal" tokenizer encode --tokenizer "$small" "$scratch"
expect_text "$scratch/err" 'Is a directory'
expect_exit 2 "$shoal" tokenizer encode --tokenizer "$seeds/small.tiktoken" "$scratch/text"
expect_text "$scratch/err" '--pattern'
expect_exit 0 "$shoal" tokenizer encode --tokenizer "$seeds/small.tiktoken" --pattern gpt2 "$scratch/text"
expect_exit 2 "$shoal" tokenizer encode --tokenizer "$small" --pattern gpt3 "$scratch/text"
expect_text "$scratch/err" "--pattern is 'gpt3'"
for pattern in byte word none; do expect_exit 2 "$shoal" tokenizer encode --tokenizer "$seeds/small.tiktoken" --pattern $pattern "$scratch/text"; done
echo '1 2 three' >"$scratch/wrong"
expect_exit 3 "$shoal" tokenizer decode --tokenizer "$small" "$scratch/wrong"
expect_text "$scratch/err" "'three' is no id"
echo 99999 >"$scratch/wrong"
expect_exit 3 "$shoal" tokenizer decode --tokenizer "$small" "$scratch/wrong"
expect_text "$scratch/err" 'id 99999 is no token'

expect_exit 0 "$shoal" tokenizer train --vocab-size 300 --added '<|endoftext|>' --output "$scratch/mine" "$SHOAL_SOURCE_DIR/README.md"
expect_text "$scratch/out" '^  ids +300$'
expect_exit 0 "$shoal" tokenizer encode --tokenizer "$scratch/mine" "$SHOAL_SOURCE_DIR/README.md"
cp "$scratch/out" "$scratch/ids"
expect_exit 0 "$shoal" tokenizer decode --tokenizer "$scratch/mine" "$scratch/ids"
cmp "$scratch/out" "$SHOAL_SOURCE_DIR/README.md" || fail 'a trained tokenizer does not give the text back'
expect_exit 2 "$shoal" tokenizer train --vocab-size 256 --added x --output "$scratch/mine" "$SHOAL_SOURCE_DIR/README.md"
expect_text "$scratch/err" 'make it 257 or more'
expect_exit 2 "$shoal" tokenizer train --vocab-size 300 --tie-break other --output "$scratch/mine" "$SHOAL_SOURCE_DIR/README.md"
expect_text "$scratch/err" "--tie-break is 'other'"
expect_exit 2 "$shoal" tokenizer train --vocab-size 300 --output "$scratch/text/x" "$SHOAL_SOURCE_DIR/README.md"
expect_text "$scratch/err" '--output is '
expect_exit 0 "$shoal" bench tokenizer --tokenizer "$scratch/mine" "$SHOAL_SOURCE_DIR/README.md"
expect_text "$scratch/out" '^tokenizer.warm_mb_s [0-9.]+$'

# Closed lists: characters as nanoGPT numbers them, words without the white space between them; bytes need no file.
printf 'b a\nab \303\251' >"$scratch/letters"
expect_exit 0 "$shoal" tokenizer train --kind character --output "$scratch/characters" "$scratch/letters"
expect_exit 0 "$shoal" tokenizer encode --tokenizer "$scratch/characters" "$scratch/letters"
[ "$(tr '\n' ' ' <"$scratch/out")" = '3 1 2 0 2 3 1 4 ' ] || fail 'character ids'
cp "$scratch/out" "$scratch/ids"
expect_exit 0 "$shoal" tokenizer decode --tokenizer "$scratch/characters" "$scratch/ids"
cmp "$scratch/out" "$scratch/letters" || fail 'characters do not give the text back'
printf 'abc' >"$scratch/more"
expect_exit 3 "$shoal" tokenizer encode --tokenizer "$scratch/characters" "$scratch/more"
expect_text "$scratch/err" "'c' is none of the 5 characters"
printf 'to be or  not\nto be' >"$scratch/words.txt"
expect_exit 0 "$shoal" tokenizer train --kind word --added '<|endoftext|>' --output "$scratch/words" "$scratch/words.txt"
expect_exit 0 "$shoal" tokenizer encode --tokenizer "$scratch/words" "$scratch/words.txt"
[ "$(tr '\n' ' ' <"$scratch/out")" = '3 0 2 1 3 0 ' ] || fail 'word ids'
expect_exit 0 "$shoal" tokenizer info --tokenizer "$scratch/words"
expect_text "$scratch/out" '<\|endoftext\|> +4'
printf 'a\xff' >"$scratch/bytes"
expect_exit 0 "$shoal" tokenizer encode --tokenizer byte "$scratch/bytes"
[ "$(tr '\n' ' ' <"$scratch/out")" = '97 255 ' ] || fail 'byte ids'
expect_exit 3 "$shoal" tokenizer train --kind character --output "$scratch/characters" "$scratch/bytes"
expect_text "$scratch/err" 'byte 0xff, which is no UTF-8'
expect_exit 2 "$shoal" tokenizer train --kind syllable --output "$scratch/characters" "$scratch/letters"
expect_text "$scratch/err" "--kind is 'syllable'"
echo '{"shoal_tokenizer": "character", "symbols": ["ab"]}' >"$scratch/damaged.json"
expect_exit 3 "$shoal" tokenizer info --tokenizer "$scratch/damaged.json"
expect_text "$scratch/err" "symbol 0, 'ab', is not one character"
