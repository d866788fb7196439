"""Checks for the exercises of the book: `check.softmax(my_softmax)` says what is right, or what is wrong first, and why.

A check prints its answer and gives nothing back. Source: the exercises at the end of each chapter.
"""
from .chapter_01 import animate_ball, feature_rows, mix, mix_by_hand, weights_of_mix, why_not_average
from .chapter_02 import dot_by_hand, query, softmax, why_exponential
from .chapter_03 import (break_symmetry, simple_attention, softmax_rows, symmetry_and_sums, totals_without_keepdims,
                         weights_by_hand)
from .chapter_04 import article_query, project, query_by_hand, which_matrix, why_three
from .chapter_05 import attention, mended_attention, value, weight_by_hand, why_root
from .chapter_06 import attention_module, batch_shapes, keeps_apart, looked_at, silent_mistakes, to_layer
from .chapter_07 import attention_cost, head_shapes, merge_heads, multi_head_attention, split_heads, why_heads
from .chapter_08 import add_positions, ignores_order, wave_entries, waves, why_positions
from .chapter_09 import block_parameters, layer_norm, norm_by_hand, pre_norm, why_block
from .chapter_10 import embed, look_up, model_parameters, next_token, reach, why_stack
from .chapter_11 import causal_mask, causal_weights, leaks, masked_row_by_hand, padding_mask, why_mask
from .chapter_12 import lowest_loss, mean_of_shares, surprise_by_hand, token_loss, training_step, why_floor
from .chapter_13 import head_scores, remove_head, score_by_hand, head_claims, with_bias
from .chapter_14 import cached_step, draw_by_hand, piece_mask, tokens_read, top_p, why_cache
from .chapter_15 import cache_numbers, catch_up, distrust, merge_pieces, step_multiplications, why_cost
from .chapter_16 import gated_mlp, grouped_attention, modern_parameters, rms_by_hand, rotate_at, why_modern
